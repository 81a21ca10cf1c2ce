import com.google.gson.Gson;
import com.google.gson.JsonParser;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.AsyncApi;
import org.openapitools.client.api.InvocationApi;
import org.openapitools.client.api.ModelsApi;
import org.openapitools.client.api.UsageApi;
import org.openapitools.client.model.ChatRequest;
import org.openapitools.client.model.ChatRequestMessage;
import org.openapitools.client.model.ChatRequestMessageContent;
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

    var handle = tasks.submitImage(new SubmitImageRequest().prompt("a lighthouse"), null, null);
    String status = "";
    for (long end = System.currentTimeMillis() + 60_000;
        !status.equals("TASK_STATUS_SUCCEED") && System.currentTimeMillis() < end; ) {
      status = tasks.getTaskResult(handle.getTaskId(), null, "wait=20").getTask().getStatus();
    }
    seen.put("image", status);
    seen.put("used", new UsageApi(client).getCredits(null).getData().getTotalUsage());

    try {
      models.getModel("tollgate/none", null);
    } catch (ApiException refused) {
      var body = JsonParser.parseString(refused.getResponseBody()).getAsJsonObject();
      seen.put("refusal", body.getAsJsonObject("error").get("code").getAsString());
    }
    System.out.println(new Gson().toJson(seen));
  }
}
