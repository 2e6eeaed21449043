// Shows what the trace holds.

showHeader();
showTheme();
if (data.steps.length) showTokens();
if (data.frames.length) showCanvas();
if (data.tree.length) showTree();
