// A sampler for llama.cpp that allows only the tokens that may come next by a grammar, and a program that writes one text
// with it:
//
//     sampler MODEL.gguf KIND SOURCE-FILE [OPTIONS] PROMPT
//
// KIND and OPTIONS are those of mw_compile in maskwright.h: `json_schema`, `regex`, `lark`, `gbnf`, `tool_calls`, … and a
// JSON object. To use the sampler in a program of your own, copy the part before `main`.

#include "llama.h"
#include "maskwright.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

// Prints and frees an error. Whether there was none.
bool is_ok(mw_status status, mw_error * error, const char * what) {
    if (status != MW_STATUS_OK) {
        std::fprintf(stderr, "maskwright: %s: %s\n", what, error ? error->message : "no memory");
    }
    mw_error_free(error);
    return status == MW_STATUS_OK;
}

struct Freed {
    void operator()(mw_tokenizer * tokenizer) const { mw_tokenizer_free(tokenizer); }
    void operator()(mw_compiler * compiler) const { mw_compiler_free(compiler); }
    void operator()(mw_grammar * grammar) const { mw_grammar_free(grammar); }
    void operator()(mw_session * session) const { mw_session_free(session); }
};
template <typename T> using Owned = std::unique_ptr<T, Freed>;

std::string written(const llama_vocab * vocab, llama_token token, bool special) {
    std::string text(64, '\0');
    int32_t size = llama_detokenize(vocab, &token, 1, text.data(), (int32_t) text.size(), false, special);
    if (size < 0) {
        text.resize(-size);
        size = llama_detokenize(vocab, &token, 1, text.data(), (int32_t) text.size(), false, special);
    }
    text.resize(size < 0 ? 0 : size);
    return text;
}

// Tokens as Maskwright is told of them: text, special tokens by their names, and those that end a text.
Owned<mw_tokenizer> tokenizer_of(const llama_vocab * vocab) {
    std::string bytes;
    std::vector<uint32_t> lengths;
    std::vector<uint8_t> flags;
    for (llama_token token = 0; token < llama_vocab_n_tokens(vocab); token++) {
        const bool is_text = !llama_vocab_is_control(vocab, token) && !llama_vocab_is_eog(vocab, token);
        std::string text = written(vocab, token, !is_text);
        bytes += text;
        lengths.push_back((uint32_t) text.size());
        flags.push_back((is_text ? 0 : MW_TOKEN_SPECIAL) | (llama_vocab_is_eog(vocab, token) ? MW_TOKEN_ENDS_TEXT : 0));
    }
    mw_tokenizer * tokenizer = nullptr;
    mw_error * error = nullptr;
    const auto * data = reinterpret_cast<const uint8_t *>(bytes.data());
    mw_status status = mw_tokenizer_from_tokens(data, lengths.data(), flags.data(), lengths.size(), &tokenizer, &error);
    is_ok(status, error, "vocabulary");
    return Owned<mw_tokenizer>(tokenizer);
}

struct State {
    Owned<mw_session> session;
    std::vector<uint32_t> mask;
    // Set by an error. From then on only the tokens that end the text are left, so that nothing is written without a grammar.
    bool is_broken = false;
    const llama_vocab * vocab;
};

State * state_of(const llama_sampler * sampler) { return static_cast<State *>(sampler->ctx); }

const char * name(const llama_sampler *) { return "maskwright"; }

void accept(llama_sampler * sampler, llama_token token) {
    State * state = state_of(sampler);
    if (state->is_broken) {
        return;
    }
    bool is_accepted = false, is_terminated = false;
    mw_error * error = nullptr;
    mw_status status = mw_session_accept(state->session.get(), (uint32_t) token, &is_accepted, &error);
    state->is_broken = !is_ok(status, error, "token");
    if (!state->is_broken && !is_accepted) {
        // Programs may accept the token that ends the text once more.
        mw_session_is_terminated(state->session.get(), &is_terminated, nullptr);
        if (!is_terminated) {
            std::fprintf(stderr, "maskwright: token %d is not allowed here: was it sampled with this mask?\n", token);
            state->is_broken = true;
        }
    }
}

void apply(llama_sampler * sampler, llama_token_data_array * tokens) {
    State * state = state_of(sampler);
    uint32_t flags = 0;
    mw_error * error = nullptr;
    if (!state->is_broken) {
        mw_status status =
            mw_session_fill_mask(state->session.get(), state->mask.data(), state->mask.size(), &flags, &error);
        state->is_broken = !is_ok(status, error, "mask");
    }
    if (!state->is_broken && (flags & MW_MASK_IS_FULL)) {
        return;
    }
    for (size_t i = 0; i < tokens->size; i++) {
        const auto id = (uint32_t) tokens->data[i].id;
        const bool is_allowed = state->is_broken ? llama_vocab_is_eog(state->vocab, tokens->data[i].id)
                                                 : (state->mask[id / 32] >> (id % 32)) & 1;
        if (!is_allowed) {
            tokens->data[i].logit = -INFINITY;
        }
    }
}

void reset(llama_sampler * sampler) {
    State * state = state_of(sampler);
    mw_error * error = nullptr;
    mw_status status = mw_session_reset(state->session.get(), &error);
    state->is_broken = !is_ok(status, error, "reset");
}

llama_sampler * clone(const llama_sampler * sampler);

void release(llama_sampler * sampler) { delete state_of(sampler); }

llama_sampler_i interface() {
    // By name: newer versions of llama.cpp have more members, which may be null.
    llama_sampler_i made = {};
    made.name = name;
    made.accept = accept;
    made.apply = apply;
    made.reset = reset;
    made.clone = clone;
    made.free = release;
    return made;
}
llama_sampler_i INTERFACE = interface();

llama_sampler * clone(const llama_sampler * sampler) {
    const State * state = state_of(sampler);
    mw_session * session = nullptr;
    mw_error * error = nullptr;
    bool is_broken = !is_ok(mw_session_clone(state->session.get(), &session, &error), error, "clone") || state->is_broken;
    return llama_sampler_init(&INTERFACE, new State{Owned<mw_session>(session), state->mask, is_broken, state->vocab});
}

}  // namespace

// A sampler by a grammar; NULL after an error, which is printed. `options` may be NULL. Put it first into a chain, so that
// the others choose among the allowed tokens. The compiler is made anew each time: a server keeps one for each vocabulary.
llama_sampler * maskwright_sampler_init(const llama_vocab * vocab, const char * kind, const char * source, const char * options) {
    Owned<mw_tokenizer> tokenizer = tokenizer_of(vocab);
    if (!tokenizer) {
        return nullptr;
    }
    mw_error * error = nullptr;
    mw_compiler * compiler = nullptr;
    if (!is_ok(mw_compiler_new(tokenizer.get(), nullptr, &compiler, &error), error, "compiler")) {
        return nullptr;
    }
    Owned<mw_compiler> owned_compiler(compiler);
    mw_grammar * grammar = nullptr;
    const std::string text = source;
    mw_status status = mw_compile(compiler, kind, text.data(), text.size(), options, nullptr, &grammar, &error);
    if (!is_ok(status, error, "grammar")) {
        return nullptr;
    }
    Owned<mw_grammar> owned_grammar(grammar);
    mw_session * session = nullptr;
    error = nullptr;
    if (!is_ok(mw_session_new(grammar, nullptr, &session, &error), error, "session")) {
        return nullptr;
    }
    std::vector<uint32_t> mask(mw_tokenizer_mask_words(tokenizer.get()));
    return llama_sampler_init(&INTERFACE, new State{Owned<mw_session>(session), std::move(mask), false, vocab});
}

namespace {

int fail(const char * message) {
    std::fprintf(stderr, "sampler: %s\n", message);
    return 1;
}

}  // namespace

int main(int argc, char ** argv) {
    const int max_tokens = 400;
    if (argc != 5 && argc != 6) {
        return fail("usage: sampler MODEL.gguf KIND SOURCE-FILE [OPTIONS] PROMPT");
    }
    std::ifstream file(argv[3]);
    if (!file) {
        return fail("the file of the grammar cannot be read");
    }
    const std::string source((std::istreambuf_iterator<char>(file)), {}), prompt = argv[argc - 1];

    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    llama_model * model = llama_model_load_from_file(argv[1], llama_model_default_params());
    if (!model) {
        return fail("the model cannot be read");
    }
    const llama_vocab * vocab = llama_model_get_vocab(model);
    const int n_prompt = -llama_tokenize(vocab, prompt.data(), (int32_t) prompt.size(), nullptr, 0, true, true);
    std::vector<llama_token> tokens(n_prompt);
    llama_tokenize(vocab, prompt.data(), (int32_t) prompt.size(), tokens.data(), n_prompt, true, true);

    llama_context_params params = llama_context_default_params();
    params.n_ctx = n_prompt + max_tokens;
    params.n_batch = params.n_ctx;
    llama_context * context = llama_init_from_model(model, params);
    llama_sampler * constraint = maskwright_sampler_init(vocab, argv[2], source.c_str(), argc == 6 ? argv[4] : nullptr);
    if (!context || !constraint) {
        return fail("stopped");
    }
    llama_sampler * chain = llama_sampler_chain_init(llama_sampler_chain_default_params());
    llama_sampler_chain_add(chain, constraint);
    llama_sampler_chain_add(chain, llama_sampler_init_temp(0.7f));
    llama_sampler_chain_add(chain, llama_sampler_init_dist(1));

    bool has_ended = false;
    for (int n = 0; n < max_tokens && !has_ended; n++) {
        if (llama_decode(context, llama_batch_get_one(tokens.data(), (int32_t) tokens.size()))) {
            return fail("llama_decode failed");
        }
        // Samples, and accepts the token in each sampler of the chain.
        const llama_token token = llama_sampler_sample(chain, context, -1);
        has_ended = llama_vocab_is_eog(vocab, token);
        if (!has_ended) {
            std::fputs(written(vocab, token, false).c_str(), stdout);
            std::fflush(stdout);
        }
        tokens = {token};
    }
    std::puts("");
    llama_sampler_free(chain);
    llama_free(context);
    llama_model_free(model);
    return has_ended ? 0 : fail("the text was cut");
}
