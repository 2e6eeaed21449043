// Writes a JSON text that fits a schema. Instead of a model's choice it takes the first token that is allowed.
package main

// #cgo pkg-config: maskwright
// #include <stdlib.h>
// #include <maskwright.h>
import "C"

import (
	"errors"
	"fmt"
	"os"
	"unsafe"
)

var tokens = []string{"<|end|>", "}", "{", "\"", ":", ",", "Ada", "Grace", "name", "age",
	"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}

const schema = `{"type": "object", "properties": {"name": {"enum": ["Ada", "Grace"]},
	"age": {"type": "integer", "minimum": 18}}, "required": ["name", "age"], "additionalProperties": false}`

// check makes a Go error of what a call returned, and frees the library's.
func check(status C.enum_mw_status, failed **C.mw_error) error {
	if status == C.MW_STATUS_OK {
		return nil
	}
	defer C.mw_error_free(*failed)
	return errors.New(C.GoString((*failed).message))
}

func write() (string, error) {
	var failed *C.mw_error
	// The tokens of the model, one after the other. mw_tokenizer_from_file reads those of a tokenizer.json.
	var bytes []byte
	lengths := make([]C.uint32_t, len(tokens))
	flags := make([]C.uint8_t, len(tokens))
	for id, token := range tokens {
		bytes = append(bytes, token...)
		lengths[id] = C.uint32_t(len(token))
	}
	flags[0] = C.MW_TOKEN_ENDS_TEXT | C.MW_TOKEN_SPECIAL
	var tokenizer *C.mw_tokenizer
	if err := check(C.mw_tokenizer_from_tokens((*C.uint8_t)(&bytes[0]), &lengths[0], &flags[0],
		C.uintptr_t(len(tokens)), &tokenizer, &failed), &failed); err != nil {
		return "", err
	}
	defer C.mw_tokenizer_free(tokenizer)
	var compiler *C.mw_compiler
	if err := check(C.mw_compiler_new(tokenizer, nil, &compiler, &failed), &failed); err != nil {
		return "", err
	}
	defer C.mw_compiler_free(compiler)

	kind, source, options := C.CString("json_schema"), C.CString(schema), C.CString(`{"max_tokens": 100}`)
	defer C.free(unsafe.Pointer(kind))
	defer C.free(unsafe.Pointer(source))
	defer C.free(unsafe.Pointer(options))
	var grammar *C.mw_grammar
	if err := check(C.mw_compile(compiler, kind, source, C.uintptr_t(len(schema)), nil, nil, &grammar, &failed),
		&failed); err != nil {
		return "", err
	}
	defer C.mw_grammar_free(grammar)
	var session *C.mw_session
	if err := check(C.mw_session_new(grammar, options, &session, &failed), &failed); err != nil {
		return "", err
	}
	defer C.mw_session_free(session)

	text := ""
	mask := make([]C.uint32_t, C.mw_tokenizer_mask_words(tokenizer))
	for {
		if err := check(C.mw_session_fill_mask(session, &mask[0], C.uintptr_t(len(mask)), nil, &failed),
			&failed); err != nil {
			return "", err
		}
		id := 0
		for mask[id/32]>>(id%32)&1 == 0 {
			id++
		}
		var isAccepted, hasEnded C.bool
		if err := check(C.mw_session_accept(session, C.uint32_t(id), &isAccepted, &failed), &failed); err != nil {
			return "", err
		}
		if err := check(C.mw_session_is_terminated(session, &hasEnded, &failed), &failed); err != nil {
			return "", err
		}
		if hasEnded {
			return text, nil
		}
		text += tokens[id]
	}
}

func main() {
	text, err := write()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(text)
}
