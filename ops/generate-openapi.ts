import { writeFileSync } from 'node:fs';
import { documentOf } from './openapi-routes.ts';

/** Writes openapi.json at the root of the repository; a test fails when the committed one is not this. */
writeFileSync(new URL('../openapi.json', import.meta.url), `${JSON.stringify(documentOf(), null, 2)}\n`);
