import json
import os
import time

import openapi_client as tollgate

configuration = tollgate.Configuration(access_token=os.environ["TOLLGATE_KEY"])
with tollgate.ApiClient(configuration) as client:
    models = tollgate.ModelsApi(client)
    tasks = tollgate.AsyncApi(client)
    seen = {
        "models": len(models.list_models().data),
        "model": models.get_model("tollgate/small").data.id,
    }

    message = tollgate.ChatRequestMessage(content=tollgate.ChatRequestMessageContent("Say hello."))
    chat = tollgate.InvocationApi(client).create_chat_completion(
        tollgate.ChatRequest(model="tollgate/small", messages=[message])
    )
    seen["text"] = chat.choices[0].message.content
    seen["tokens"] = chat.usage.total_tokens

    called = tollgate.InvocationApi(client).create_chat_completion(
        tollgate.ChatRequest(
            model="tollgate/small",
            messages=[tollgate.ChatRequestMessage(content=tollgate.ChatRequestMessageContent("Use the weather tool."))],
            tools=[tollgate.ChatTool(function=tollgate.ChatToolFunction(name="weather"))],
        )
    )
    seen["tool"] = called.choices[0].message.tool_calls[0].function.name
    turn = tollgate.MessageRequestMessage(content=tollgate.MessageRequestMessageContent("Say hello."))
    asked = tollgate.MessagesRequest(model="tollgate/small", max_tokens=200, messages=[turn])
    seen["message"] = tollgate.InvocationApi(client).create_message(asked).content[0].text
    keys, usage, billing = tollgate.KeysApi(client), tollgate.UsageApi(client), tollgate.BillingApi(client)
    seen["key"] = keys.create_key(tollgate.CreateKey(name="generated")).data.name

    handle = tasks.submit_image(tollgate.SubmitImageRequest(prompt="a lighthouse"))
    status, end = "", time.monotonic() + 60
    while status != "TASK_STATUS_SUCCEED" and time.monotonic() < end:
        status = tasks.get_task_result(handle.task_id, prefer="wait=20").task.status
    seen["image"] = status
    lists = [
        keys.list_keys(),
        usage.get_usage(),
        usage.get_costs(),
        tollgate.TasksApi(client).list_tasks(),
        billing.list_balance_transactions(),
    ]
    seen["rows"] = [len(one.data) for one in lists]
    seen["invoices"] = len(billing.list_invoices().data)
    seen["used"] = usage.get_credits().data.total_usage

    try:
        models.get_model("tollgate/none")
    except tollgate.ApiException as refused:
        seen["refusal"] = json.loads(refused.body)["error"]["code"]
print(json.dumps(seen))
