import type { Catalog } from '../../catalog/catalog.types.ts';
import { CatalogError } from '../../catalog/catalog-error.ts';
import { readCatalogText } from '../../catalog/catalog-source.ts';
import { type EngineSurroundings, engineMistake } from '../../catalog/engine-kinds.ts';
import { parseCatalog } from '../../catalog/parse-catalog.ts';
import type { CliSurroundings } from './cli-context.ts';
import { CliError, EXIT } from './cli-error.ts';

/** Returns what the engines of a catalog are created with on the command line. */
export function engineSurroundings(
  file: string,
  { FFMPEG_PATH = 'ffmpeg', FFPROBE_PATH = 'ffprobe' }: CliSurroundings['environment'],
): EngineSurroundings {
  return { catalogFile: file, ffmpegPath: FFMPEG_PATH, ffprobePath: FFPROBE_PATH };
}

/** Reads a tollgate.yaml as a start does. Throws CliError with the one line that the start would fail with. */
export async function readCatalog(
  file: string,
  environment: CliSurroundings['environment'],
): Promise<Catalog> {
  try {
    const catalog = parseCatalog(await readCatalogText(file), file, environment);
    const mistake = engineMistake(engineSurroundings(file, environment), catalog);
    if (mistake !== undefined) {
      throw new CatalogError(`${file}: ${mistake}`);
    }
    return catalog;
  } catch (error) {
    throw error instanceof CatalogError ? new CliError(error.message, EXIT.usage) : error;
  }
}
