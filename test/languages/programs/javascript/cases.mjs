// The requests of every client, and the report of their results: one line of JSON for each case.

const { TOLLGATE_URL, TOLLGATE_KEY, TOLLGATE_EMPTY_KEY, TOLLGATE_FAMILY } = process.env;

export const URL = TOLLGATE_URL;
export const KEY = TOLLGATE_KEY;
export const EMPTY_KEY = TOLLGATE_EMPTY_KEY;
export const ASK = 'What is the weather in Paris?';
export const WEATHER = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};

/** Returns the id of a model. Ids of simulated models begin with the dialect that they speak. */
export function model(name) {
  return `${TOLLGATE_FAMILY}/${name}`;
}

function told(error) {
  // some clients wrap the error that has the status
  const known = error.status || error.statusCode ? error : (error.lastError ?? error.cause ?? error);
  const body = known.responseBody ? JSON.parse(known.responseBody) : known.error;
  return {
    status: known.status ?? known.statusCode ?? null,
    code: (typeof known.code === 'string' && known.code) || body?.error?.code || body?.code || null,
    message: `${error.name}: ${error.message}`.slice(0, 300),
  };
}

export async function run(cases) {
  for (const [name, play] of Object.entries(cases)) {
    let seen;
    try {
      seen = await play();
    } catch (error) {
      // the raised error may be what the case is about
      seen = { error: told(error) };
    }
    console.log(JSON.stringify({ case: name, ...seen }));
  }
}
