// The requests of every client, and the report of their results: one line of JSON for each case.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

const ask = "What is the weather in Paris?"

var (
	address  = os.Getenv("TOLLGATE_URL")
	key      = os.Getenv("TOLLGATE_KEY")
	emptyKey = os.Getenv("TOLLGATE_EMPTY_KEY")
	weather  = map[string]any{
		"type":                 "object",
		"properties":           map[string]any{"city": map[string]any{"type": "string"}},
		"required":             []string{"city"},
		"additionalProperties": false,
	}
)

// seen is the result of a case, by the names of the table.
type seen map[string]any

// testCase is one case of a client. Its error may be what the case is about.
type testCase struct {
	name string
	run  func() (seen, error)
}

func model(name string) string {
	return os.Getenv("TOLLGATE_FAMILY") + "/" + name
}

// cityOf reads the city from the arguments of a tool or from a structured answer.
func cityOf(text string) (string, error) {
	var read struct {
		City string `json:"city"`
	}
	err := json.Unmarshal([]byte(text), &read)
	return read.City, err
}

func main() {
	clients := map[string]struct {
		cases []testCase
		told  func(error) seen
	}{
		"openai-go":        {openAiCases(), openAiError},
		"go-openai":        {goOpenAiCases(), goOpenAiError},
		"anthropic-sdk-go": {anthropicCases(), anthropicError},
		"langchaingo":      {langChainCases(os.Getenv("TOLLGATE_FAMILY")), langChainError},
		"eino":             {einoCases(), einoError},
	}
	client := clients[os.Args[1]]
	for _, one := range client.cases {
		line, err := one.run()
		if line == nil {
			line = seen{}
		}
		line["case"] = one.name
		if err != nil {
			told := client.told(err)
			told["message"] = err.Error()
			line["error"] = told
		}
		text, _ := json.Marshal(line)
		fmt.Println(string(text))
	}
}
