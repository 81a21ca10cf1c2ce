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

    handle = tasks.submit_image(tollgate.SubmitImageRequest(prompt="a lighthouse"))
    status, end = "", time.monotonic() + 60
    while status != "TASK_STATUS_SUCCEED" and time.monotonic() < end:
        status = tasks.get_task_result(handle.task_id, prefer="wait=20").task.status
    seen["image"] = status
    seen["used"] = tollgate.UsageApi(client).get_credits().data.total_usage

    try:
        models.get_model("tollgate/none")
    except tollgate.ApiException as refused:
        seen["refusal"] = json.loads(refused.body)["error"]["code"]
print(json.dumps(seen))
