package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

func goOpenAiError(err error) seen {
	var refused *openai.APIError
	if errors.As(err, &refused) {
		return seen{"status": refused.HTTPStatusCode, "code": refused.Code}
	}
	return seen{}
}

func goOpenAiCases() []testCase {
	ctx := context.Background()
	with := func(key string) *openai.Client {
		config := openai.DefaultConfig(key)
		config.BaseURL = address + "/api/v1"
		return openai.NewClientWithConfig(config)
	}
	client := with(key)
	question := func(name string) openai.ChatCompletionRequest {
		return openai.ChatCompletionRequest{
			Model:    model(name),
			Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: ask}},
		}
	}
	refused := func(name string, client *openai.Client) func() (seen, error) {
		return func() (seen, error) {
			_, err := client.CreateChatCompletion(ctx, question(name))
			return nil, err
		}
	}
	streamed := func(name string, most int) (string, int, error) {
		stream, err := client.CreateChatCompletionStream(ctx, question(name))
		if err != nil {
			return "", 0, err
		}
		defer stream.Close()
		text, chunks := "", 0
		for chunks < most {
			chunk, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return text, chunks, err
			}
			chunks++
			if len(chunk.Choices) > 0 {
				text += chunk.Choices[0].Delta.Content
			}
		}
		return text, chunks, nil
	}
	return []testCase{
		{"simple", func() (seen, error) {
			answer, err := client.CreateChatCompletion(ctx, question("chat"))
			if err != nil {
				return nil, err
			}
			choice := answer.Choices[0]
			return seen{"text": choice.Message.Content, "finish": choice.FinishReason}, nil
		}},
		{"stream", func() (seen, error) {
			text, _, err := streamed("chat", 1_000)
			return seen{"text": text}, err
		}},
		{"tools", func() (seen, error) {
			request := question("chat")
			definition := openai.FunctionDefinition{Name: "weather", Parameters: weather}
			request.Tools = []openai.Tool{{Type: openai.ToolTypeFunction, Function: &definition}}
			called, err := client.CreateChatCompletion(ctx, request)
			if err != nil {
				return nil, err
			}
			message := called.Choices[0].Message
			call := message.ToolCalls[0]
			result := openai.ChatCompletionMessage{
				Role: openai.ChatMessageRoleTool, ToolCallID: call.ID, Content: "sunny",
			}
			request.Messages = append(request.Messages, message, result)
			answer, err := client.CreateChatCompletion(ctx, request)
			if err != nil {
				return nil, err
			}
			city, err := cityOf(call.Function.Arguments)
			return seen{"city": city, "text": answer.Choices[0].Message.Content}, err
		}},
		{"structured", func() (seen, error) {
			request := question("structured")
			schema, _ := json.Marshal(weather)
			request.ResponseFormat = &openai.ChatCompletionResponseFormat{
				Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
				JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
					Name: "weather", Strict: true, Schema: json.RawMessage(schema),
				},
			}
			answer, err := client.CreateChatCompletion(ctx, request)
			if err != nil {
				return nil, err
			}
			city, err := cityOf(answer.Choices[0].Message.Content)
			return seen{"city": city}, err
		}},
		{"usage", func() (seen, error) {
			answer, err := client.CreateChatCompletion(ctx, question("cached"))
			if err != nil {
				return nil, err
			}
			usage := answer.Usage
			cached := usage.PromptTokensDetails.CachedTokens
			return seen{"input": usage.PromptTokens, "output": usage.CompletionTokens, "cached": cached}, nil
		}},
		{"models", func() (seen, error) {
			list, err := client.ListModels(ctx)
			if err != nil {
				return nil, err
			}
			ids := []string{}
			for _, one := range list.Models {
				ids = append(ids, one.ID)
			}
			single, err := client.GetModel(ctx, model("chat"))
			return seen{"models": ids, "model": single.ID}, err
		}},
		{"wrong key", refused("chat", with("sk-tg-v1-wrong"))},
		{"no credits", refused("chat", with(emptyKey))},
		{"bad request", func() (seen, error) {
			request := question("chat")
			request.Temperature = 9
			_, err := client.CreateChatCompletion(ctx, request)
			return nil, err
		}},
		{"unknown model", refused("none", client)},
		{"rate limit", refused("limited", client)},
		{"provider fails", refused("failing", client)},
		{"breaks off", func() (seen, error) {
			_, _, err := streamed("breaking", 1_000)
			return nil, err
		}},
		{"cancel", func() (seen, error) {
			_, chunks, err := streamed("patient", 3)
			return seen{"chunks": chunks}, err
		}},
		{"time-out", func() (seen, error) {
			short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
			defer cancel()
			_, err := client.CreateChatCompletion(short, question("slow"))
			return nil, err
		}},
	}
}
