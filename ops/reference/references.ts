import { headersReference, operatorReference } from './api-reference.ts';
import { catalogReference } from './catalog-reference.ts';
import { cliReference } from './cli-reference.ts';
import { dataModelReference } from './data-model-reference.ts';
import { errorsReference } from './errors-reference.ts';
import { metricsReference } from './metrics-reference.ts';
import { settingsReference } from './settings-reference.ts';
import { tasksReference } from './tasks-reference.ts';
import { webhooksReference } from './webhooks-reference.ts';

/** The pages of `docs/reference/` and what generates them. */
export const REFERENCES: readonly (readonly [file: string, text: () => string])[] = [
  ['settings.md', settingsReference],
  ['tollgate-yaml.md', catalogReference],
  ['cli.md', cliReference],
  ['metrics.md', metricsReference],
  ['errors.md', errorsReference],
  ['tasks.md', tasksReference],
  ['headers.md', headersReference],
  ['webhooks.md', webhooksReference],
  ['operator-api.md', operatorReference],
  ['data-model.md', dataModelReference],
];
