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

	function := tollgate.NewChatToolFunction("weather")
	words = "Use the weather tool."
	request.Tools = []tollgate.ChatTool{{Function: function}}
	called, _, err := client.InvocationAPI.CreateChatCompletion(ctx).ChatRequest(*request).Execute()
	check(err)
	turn := tollgate.NewMessageRequestMessage(tollgate.StringAsMessageRequestMessageContent(&words))
	asked := tollgate.NewMessagesRequest("tollgate/small", []tollgate.MessageRequestMessage{*turn})
	asked.SetMaxTokens(200)
	answer, _, err := client.InvocationAPI.CreateMessage(ctx).MessagesRequest(*asked).Execute()
	check(err)
	made, _, err := client.KeysAPI.CreateKey(ctx).CreateKey(*tollgate.NewCreateKey("generated")).Execute()
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

	keys, _, err := client.KeysAPI.ListKeys(ctx).Execute()
	check(err)
	usage, _, err := client.UsageAPI.GetUsage(ctx).Execute()
	check(err)
	costs, _, err := client.UsageAPI.GetCosts(ctx).Execute()
	check(err)
	tasks, _, err := client.TasksAPI.ListTasks(ctx).Execute()
	check(err)
	transactions, _, err := client.BillingAPI.ListBalanceTransactions(ctx).Execute()
	check(err)
	invoices, _, err := client.BillingAPI.ListInvoices(ctx).Execute()
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
		"tool": called.Choices[0].Message.ToolCalls[0].Function.Name, "message": answer.Content[0].GetText(),
		"key": made.Data.Name, "rows": []int{len(keys.Data), len(usage.Data), len(costs.Data), len(tasks.Data), len(transactions.Data)},
		"invoices": len(invoices.Data),
		"image": status, "used": credits.Data.TotalUsage, "refusal": code,
	}))
}
