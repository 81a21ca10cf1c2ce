import com.google.gson.Gson;
import com.google.gson.JsonParser;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.AsyncApi;
import org.openapitools.client.api.BillingApi;
import org.openapitools.client.api.InvocationApi;
import org.openapitools.client.api.KeysApi;
import org.openapitools.client.api.ModelsApi;
import org.openapitools.client.api.TasksApi;
import org.openapitools.client.api.UsageApi;
import org.openapitools.client.model.ChatRequest;
import org.openapitools.client.model.ChatRequestMessage;
import org.openapitools.client.model.ChatRequestMessageContent;
import org.openapitools.client.model.ChatTool;
import org.openapitools.client.model.ChatToolFunction;
import org.openapitools.client.model.CreateKey;
import org.openapitools.client.model.MessageRequestMessage;
import org.openapitools.client.model.MessageRequestMessageContent;
import org.openapitools.client.model.MessagesRequest;
import org.openapitools.client.model.SubmitImageRequest;

public class Calls {
  public static void main(String[] args) throws ApiException {
    ApiClient client = new ApiClient();
    client.setBearerToken(System.getenv("TOLLGATE_KEY"));
    client.setReadTimeout(60_000);
    ModelsApi models = new ModelsApi(client);
    AsyncApi tasks = new AsyncApi(client);
    Map<String, Object> seen = new LinkedHashMap<>();

    seen.put("models", models.listModels(null, null, null, null).getData().size());
    seen.put("model", models.getModel("tollgate/small", null).getData().getId());

    var message = new ChatRequestMessage().content(new ChatRequestMessageContent("Say hello."));
    var request = new ChatRequest().model("tollgate/small").messages(List.of(message));
    var chat = new InvocationApi(client).createChatCompletion(request, null, null, null);
    seen.put("text", chat.getChoices().get(0).getMessage().getContent());
    seen.put("tokens", chat.getUsage().getTotalTokens());

    var content = new ChatRequestMessageContent("Use the weather tool.");
    var tool = new ChatTool().function(new ChatToolFunction().name("weather"));
    var calling = new ChatRequest().model("tollgate/small")
        .messages(List.of(new ChatRequestMessage().content(content))).tools(List.of(tool));
    var called = new InvocationApi(client).createChatCompletion(calling, null, null, null);
    seen.put("tool", called.getChoices().get(0).getMessage().getToolCalls().get(0).getFunction().getName());
    var turn = new MessageRequestMessage().content(new MessageRequestMessageContent("Say hello."));
    var asked = new MessagesRequest().model("tollgate/small").maxTokens(200).messages(List.of(turn));
    var answer = new InvocationApi(client).createMessage(asked, null, null, null, null);
    seen.put("message", answer.getContent().get(0).getText());
    KeysApi keys = new KeysApi(client);
    seen.put("key", keys.createKey(new CreateKey().name("generated"), null, null).getData().getName());

    var handle = tasks.submitImage(new SubmitImageRequest().prompt("a lighthouse"), null, null);
    String status = "";
    for (long end = System.currentTimeMillis() + 60_000;
        !status.equals("TASK_STATUS_SUCCEED") && System.currentTimeMillis() < end; ) {
      status = tasks.getTaskResult(handle.getTaskId(), null, "wait=20").getTask().getStatus();
    }
    seen.put("image", status);
    UsageApi usage = new UsageApi(client);
    BillingApi billing = new BillingApi(client);
    seen.put("rows", List.of(
        keys.listKeys(null, null, null).getData().size(),
        usage.getUsage(null, null, null, null, null, null, null, null).getData().size(),
        usage.getCosts(null, null, null, null, null, null, null, null).getData().size(),
        new TasksApi(client).listTasks(null, null, null, null, null, null, null, null, null).getData().size(),
        billing.listBalanceTransactions(null, null, null, null, null, null, null).getData().size()));
    seen.put("invoices", billing.listInvoices(null, null, null, null, null, null).getData().size());
    seen.put("used", usage.getCredits(null).getData().getTotalUsage());

    try {
      models.getModel("tollgate/none", null);
    } catch (ApiException refused) {
      var body = JsonParser.parseString(refused.getResponseBody()).getAsJsonObject();
      seen.put("refusal", body.getAsJsonObject("error").get("code").getAsString());
    }
    System.out.println(new Gson().toJson(seen));
  }
}
