import type { Principal } from '../http/route.ts';
import { AppError } from '../lib/errors.ts';
import type { GenerationRow, GenerationsReadModel } from './generations.read-model.ts';

export class GenerationsService {
  readonly #readModel: GenerationsReadModel;

  constructor(readModel: GenerationsReadModel) {
    this.#readModel = readModel;
  }

  /** A generation that the caller may see: an inference key sees its own. Throws AppError generation_not_found. */
  async get(principal: Principal, id: string): Promise<GenerationRow> {
    const row = await this.#readModel.find(principal.accountId, id);
    if (!row || (principal.role !== 'owner' && row.api_key_id !== principal.apiKeyId)) {
      throw new AppError('generation_not_found', 'There is no such generation.');
    }
    return row;
  }
}
