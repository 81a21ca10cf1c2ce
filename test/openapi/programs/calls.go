package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	tollgate "github.com/tollgate/client"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	client := tollgate.NewAPIClient(tollgate.NewConfiguration())
	ctx := context.WithValue(context.Background(), tollgate.ContextAccessToken, os.Getenv("TOLLGATE_KEY"))

	models, _, err := client.ModelsAPI.ListModels(ctx).Execute()
	check(err)
	model, _, err := client.ModelsAPI.GetModel(ctx, "tollgate/small").Execute()
	check(err)

	words := "Say hello."
	content := tollgate.StringAsChatRequestMessageContent(&words)
	message := tollgate.NewChatRequestMessage()
	message.Content = *tollgate.NewNullableChatRequestMessageContent(&content)
	request := tollgate.NewChatRequest("tollgate/small", []tollgate.ChatRequestMessage{*message})
	chat, _, err := client.InvocationAPI.CreateChatCompletion(ctx).ChatRequest(*request).Execute()
	check(err)

	handle, _, err := client.AsyncAPI.SubmitImage(ctx).
		SubmitImageRequest(*tollgate.NewSubmitImageRequest("a lighthouse")).Execute()
	check(err)
	status := ""
	for deadline := time.Now().Add(time.Minute); status != "TASK_STATUS_SUCCEED" && time.Now().Before(deadline); {
		result, _, err := client.AsyncAPI.GetTaskResult(ctx).TaskId(handle.TaskId).Prefer("wait=20").Execute()
		check(err)
		status = result.Task.Status
	}

	credits, _, err := client.UsageAPI.GetCredits(ctx).Execute()
	check(err)

	_, _, err = client.ModelsAPI.GetModel(ctx, "tollgate/none").Execute()
	var refused *tollgate.GenericOpenAPIError
	code := ""
	if errors.As(err, &refused) {
		if body, ok := refused.Model().(tollgate.Error); ok {
			code = body.Error.Code
		}
	}

	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"models": len(models.Data), "model": model.Data.Id,
		"text": chat.Choices[0].Message.GetContent(), "tokens": chat.Usage.TotalTokens,
		"image": status, "used": credits.Data.TotalUsage, "refusal": code,
	}))
}
