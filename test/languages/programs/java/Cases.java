import com.fasterxml.jackson.databind.json.JsonMapper;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.Function;

/** The requests of every client, and the report of their results: one line of JSON for each case. */
public class Cases {
  static final String URL = System.getenv("TOLLGATE_URL");
  static final String KEY = System.getenv("TOLLGATE_KEY");
  static final String EMPTY_KEY = System.getenv("TOLLGATE_EMPTY_KEY");
  static final String ASK = "What is the weather in Paris?";
  static final Map<String, Object> CITY = Map.of("city", Map.of("type", "string"));
  static final List<String> REQUIRED = List.of("city");
  static final JsonMapper JSON = new JsonMapper();

  static String model(String name) {
    return System.getenv("TOLLGATE_FAMILY") + "/" + name;
  }

  /** Reads the city from the arguments of a tool or from a structured answer. */
  static String cityOf(String text) throws Exception {
    return JSON.readTree(text).get("city").asText();
  }

  public static void main(String[] arguments) throws Exception {
    Map<String, Callable<Map<String, Object>>> cases;
    Function<Exception, Map<String, Object>> told;
    switch (arguments[0]) {
      case "openai-java" -> {
        cases = OpenAiCases.cases();
        told = OpenAiCases::told;
      }
      case "anthropic-java" -> {
        cases = AnthropicCases.cases();
        told = AnthropicCases::told;
      }
      default -> {
        cases = LangChainCases.cases();
        told = LangChainCases::told;
      }
    }
    for (var one : cases.entrySet()) {
      Map<String, Object> line = new LinkedHashMap<>(Map.of("case", one.getKey()));
      try {
        line.putAll(one.getValue().call());
      } catch (Exception error) {
        Map<String, Object> described = new HashMap<>(told.apply(error));
        described.put("message", error.toString());
        line.put("error", described);
      }
      System.out.println(JSON.writeValueAsString(line));
    }
    System.exit(0);
  }
}
