// The OpenAI SDK against Tollgate: only the base URL and the key change.
//   TOLLGATE_URL=http://127.0.0.1:8080 TOLLGATE_KEY=$(cat .data/owner.key) node docs/examples/openai.mjs
import OpenAI from 'openai';

const { TOLLGATE_URL = 'http://127.0.0.1:8080', TOLLGATE_KEY } = process.env;

async function main() {
  if (!TOLLGATE_KEY) {
    throw new Error('set TOLLGATE_KEY to an API key, as the second line of this file does');
  }
  const client = new OpenAI({ baseURL: `${TOLLGATE_URL}/api/v1`, apiKey: TOLLGATE_KEY });
  const stream = await client.chat.completions.create({
    model: 'tollgate/small',
    messages: [{ role: 'user', content: 'Say hello to a newcomer.' }],
    stream: true,
  });
  for await (const chunk of stream) {
    process.stdout.write(chunk.choices[0]?.delta.content ?? '');
    if (chunk.usage) {
      process.stdout.write(`\n${chunk.usage.total_tokens} tokens\n`);
    }
  }
}

await main().catch((error) => {
  // a refusal's message says what to do; without a status there was no answer
  const where = error instanceof OpenAI.APIConnectionError ? `${TOLLGATE_URL}: ` : '';
  process.stderr.write(`${where}${error.message}\n`);
  process.exitCode = 1;
});
