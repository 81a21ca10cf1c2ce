package main

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

func openAiError(err error) seen {
	var refused *openai.Error
	if errors.As(err, &refused) {
		return seen{"status": refused.StatusCode, "code": refused.Code}
	}
	return seen{}
}

func openAiCases() []testCase {
	ctx := context.Background()
	options := []option.RequestOption{
		option.WithBaseURL(address + "/api/v1"), option.WithAPIKey(key), option.WithMaxRetries(0),
	}
	client := openai.NewClient(options...)
	question := func(name string) openai.ChatCompletionNewParams {
		return openai.ChatCompletionNewParams{
			Model:    model(name),
			Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(ask)},
		}
	}
	refused := func(name string, more ...option.RequestOption) func() (seen, error) {
		return func() (seen, error) {
			_, err := client.Chat.Completions.New(ctx, question(name), more...)
			return nil, err
		}
	}
	// the SDK gives up at its own timeout, so its caller retries with the key of the first try
	askedAgain := func() (seen, error) {
		once := option.WithHeader("Idempotency-Key", rand.Text())
		for try := 1; ; try++ {
			answer, err := client.Chat.Completions.New(ctx, question("late"), once, option.WithRequestTimeout(time.Second))
			if err == nil {
				return seen{"text": answer.Choices[0].Message.Content}, nil
			}
			if !errors.Is(err, context.DeadlineExceeded) || try == 5 {
				return nil, err
			}
		}
	}
	return []testCase{
		{"simple", func() (seen, error) {
			answer, err := client.Chat.Completions.New(ctx, question("chat"))
			if err != nil {
				return nil, err
			}
			choice := answer.Choices[0]
			return seen{"text": choice.Message.Content, "finish": choice.FinishReason}, nil
		}},
		{"stream", func() (seen, error) {
			stream := client.Chat.Completions.NewStreaming(ctx, question("chat"))
			whole := openai.ChatCompletionAccumulator{}
			for stream.Next() {
				whole.AddChunk(stream.Current())
			}
			if err := stream.Err(); err != nil {
				return nil, err
			}
			return seen{"text": whole.Choices[0].Message.Content, "finish": whole.Choices[0].FinishReason}, nil
		}},
		{"tools", func() (seen, error) {
			params := question("chat")
			params.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(
				shared.FunctionDefinitionParam{Name: "weather", Parameters: weather})}
			called, err := client.Chat.Completions.New(ctx, params)
			if err != nil {
				return nil, err
			}
			message := called.Choices[0].Message
			call := message.ToolCalls[0]
			params.Messages = append(params.Messages, message.ToParam(), openai.ToolMessage("sunny", call.ID))
			answer, err := client.Chat.Completions.New(ctx, params)
			if err != nil {
				return nil, err
			}
			city, err := cityOf(call.Function.Arguments)
			return seen{"city": city, "text": answer.Choices[0].Message.Content}, err
		}},
		{"structured", func() (seen, error) {
			params := question("structured")
			params.ResponseFormat = openai.ChatCompletionNewParamsResponseFormatUnion{
				OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
					JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
						Name: "weather", Strict: openai.Bool(true), Schema: weather,
					},
				},
			}
			answer, err := client.Chat.Completions.New(ctx, params)
			if err != nil {
				return nil, err
			}
			city, err := cityOf(answer.Choices[0].Message.Content)
			return seen{"city": city}, err
		}},
		{"usage", func() (seen, error) {
			answer, err := client.Chat.Completions.New(ctx, question("cached"))
			if err != nil {
				return nil, err
			}
			usage := answer.Usage
			cached := usage.PromptTokensDetails.CachedTokens
			return seen{"input": usage.PromptTokens, "output": usage.CompletionTokens, "cached": cached}, nil
		}},
		{"models", func() (seen, error) {
			list, err := client.Models.List(ctx)
			if err != nil {
				return nil, err
			}
			ids := []string{}
			for _, one := range list.Data {
				ids = append(ids, one.ID)
			}
			single, err := client.Models.Get(ctx, model("chat"))
			if err != nil {
				return nil, err
			}
			return seen{"models": ids, "model": single.ID}, nil
		}},
		{"wrong key", refused("chat", option.WithAPIKey("sk-tg-v1-wrong"))},
		{"no credits", refused("chat", option.WithAPIKey(emptyKey))},
		{"bad request", refused("chat", option.WithJSONSet("temperature", 9))},
		{"unknown model", refused("none")},
		{"rate limit", refused("limited")},
		{"provider fails", refused("failing")},
		{"breaks off", func() (seen, error) {
			stream := client.Chat.Completions.NewStreaming(ctx, question("breaking"))
			for stream.Next() {
			}
			return nil, stream.Err()
		}},
		{"cancel", func() (seen, error) {
			stream := client.Chat.Completions.NewStreaming(ctx, question("patient"))
			chunks := 0
			for chunks < 3 && stream.Next() {
				chunks++
			}
			return seen{"chunks": chunks}, stream.Close()
		}},
		{"time-out", refused("slow", option.WithRequestTimeout(500*time.Millisecond))},
		{"asked again with a key", askedAgain},
	}
}
