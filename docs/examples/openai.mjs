// The OpenAI SDK against Tollgate: only the base URL and the key change.
//   TOLLGATE_URL=http://127.0.0.1:8080 TOLLGATE_KEY=$(cat .data/owner.key) node docs/examples/openai.mjs
import OpenAI from 'openai';

const { TOLLGATE_URL = 'http://127.0.0.1:8080', TOLLGATE_KEY } = process.env;
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
