package main

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/anthropic"
	"github.com/tmc/langchaingo/llms/openai"
)

var errEnough = errors.New("enough")

// langChainError finds the status in the text: langchaingo reports it nowhere else.
func langChainError(err error) seen {
	found := regexp.MustCompile(`status code: (\d{3})`).FindStringSubmatch(err.Error())
	if found == nil {
		return seen{}
	}
	status, _ := strconv.Atoi(found[1])
	return seen{"status": status}
}

func langChainModel(dialect, name, key string, format *openai.ResponseFormat) llms.Model {
	var chat llms.Model
	var err error
	if dialect == "anthropic" {
		chat, err = anthropic.New(
			anthropic.WithBaseURL(address+"/v1"), anthropic.WithToken(key), anthropic.WithModel(model(name)))
	} else {
		options := []openai.Option{
			openai.WithBaseURL(address + "/api/v1"), openai.WithToken(key), openai.WithModel(model(name)),
		}
		if format != nil {
			options = append(options, openai.WithResponseFormat(format))
		}
		chat, err = openai.New(options...)
	}
	if err != nil {
		panic(err)
	}
	return chat
}

func langChainCases(dialect string) []testCase {
	ctx := context.Background()
	question := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, ask)}
	with := func(name, key string, format *openai.ResponseFormat) llms.Model {
		return langChainModel(dialect, name, key, format)
	}
	answered := func(ctx context.Context, chat llms.Model, more ...llms.CallOption) (*llms.ContentChoice, error) {
		answer, err := chat.GenerateContent(ctx, question, append(more, llms.WithMaxTokens(200))...)
		if err != nil {
			return nil, err
		}
		return answer.Choices[0], nil
	}
	refused := func(name, key string, more ...llms.CallOption) func() (seen, error) {
		return func() (seen, error) {
			_, err := answered(ctx, with(name, key, nil), more...)
			return nil, err
		}
	}
	streamed := func(name string, most int) (string, int, error) {
		text, chunks := "", 0
		_, err := answered(ctx, with(name, key, nil), llms.WithStreamingFunc(
			func(_ context.Context, chunk []byte) error {
				text += string(chunk)
				if chunks++; chunks >= most {
					return errEnough
				}
				return nil
			}))
		return text, chunks, err
	}
	tooLong := func() (seen, error) {
		prompt := llms.TextParts(llms.ChatMessageTypeHuman, strings.Repeat("word ", 120_000))
		_, err := with("chat", key, nil).GenerateContent(ctx, []llms.MessageContent{prompt})
		if err != nil && llms.IsTokenLimitError(openai.MapError(err)) {
			return seen{"recognized": string(llms.ErrCodeTokenLimit)}, nil
		}
		return nil, err
	}
	return []testCase{
		{"simple", func() (seen, error) {
			choice, err := answered(ctx, with("chat", key, nil))
			if err != nil {
				return nil, err
			}
			return seen{"text": choice.Content, "finish": choice.StopReason}, nil
		}},
		{"stream", func() (seen, error) {
			text, _, err := streamed("chat", 1_000)
			return seen{"text": text}, err
		}},
		{"tools", func() (seen, error) {
			definition := llms.FunctionDefinition{Name: "weather", Description: "Tells it", Parameters: weather}
			tools := llms.WithTools([]llms.Tool{{Type: "function", Function: &definition}})
			called, err := answered(ctx, with("chat", key, nil), tools)
			if err != nil {
				return nil, err
			}
			call := called.ToolCalls[0]
			result := llms.ToolCallResponse{ToolCallID: call.ID, Name: "weather", Content: "sunny"}
			history := append(question,
				llms.MessageContent{Role: llms.ChatMessageTypeAI, Parts: []llms.ContentPart{call}},
				llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{result}})
			answer, err := with("chat", key, nil).GenerateContent(ctx, history, tools, llms.WithMaxTokens(200))
			if err != nil {
				return nil, err
			}
			city, err := cityOf(call.FunctionCall.Arguments)
			return seen{"city": city, "text": answer.Choices[0].Content}, err
		}},
		{"structured", func() (seen, error) {
			schema := openai.ResponseFormatJSONSchemaProperty{}
			text, _ := json.Marshal(weather)
			if err := json.Unmarshal(text, &schema); err != nil {
				return nil, err
			}
			format := openai.ResponseFormat{
				Type:       "json_schema",
				JSONSchema: &openai.ResponseFormatJSONSchema{Name: "weather", Strict: true, Schema: &schema},
			}
			choice, err := answered(ctx, with("structured", key, &format))
			if err != nil {
				return nil, err
			}
			city, err := cityOf(choice.Content)
			return seen{"city": city}, err
		}},
		{"usage", func() (seen, error) {
			choice, err := answered(ctx, with("cached", key, nil))
			if err != nil {
				return nil, err
			}
			info := choice.GenerationInfo
			if dialect == "anthropic" {
				cached := info["CacheReadInputTokens"].(int)
				return seen{"input": info["InputTokens"].(int) + cached, "output": info["OutputTokens"], "cached": cached}, nil
			}
			return seen{
				"input": info["PromptTokens"], "output": info["CompletionTokens"], "cached": info["PromptCachedTokens"],
			}, nil
		}},
		{"wrong key", refused("chat", "sk-tg-v1-wrong")},
		{"no credits", refused("chat", emptyKey)},
		{"bad request", refused("chat", key, llms.WithTemperature(9))},
		{"unknown model", refused("none", key)},
		{"rate limit", refused("limited", key)},
		{"provider fails", refused("failing", key)},
		{"breaks off", func() (seen, error) {
			_, _, err := streamed("breaking", 1_000)
			return nil, err
		}},
		{"cancel", func() (seen, error) {
			_, chunks, err := streamed("patient", 3)
			if errors.Is(err, errEnough) {
				err = nil
			}
			return seen{"chunks": chunks}, err
		}},
		{"time-out", func() (seen, error) {
			short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
			defer cancel()
			_, err := answered(short, with("slow", key, nil))
			return nil, err
		}},
		{"too long", tooLong},
	}
}
