module maskwright.example/first

go 1.19
