import type { Command } from 'commander';
import type { CliSurroundings } from '../cli-context.ts';
import { readCatalog } from '../read-catalog.ts';

/** `tollgate catalog` */
export function addCatalogCommand(program: Command, surroundings: CliSurroundings): void {
  program
    .command('catalog')
    .description('the catalog: what is sold, and who serves it')
    .command('check')
    .description('validate a tollgate.yaml as a start does; needs no running service')
    .argument('<file>', 'the file; environment variables it refers to must be set')
    .action(async (file: string) => {
      const { models, engines } = await readCatalog(file, surroundings.environment);
      surroundings.stdout.write(`${file}: valid (models: ${models.size}, engines: ${engines.length})\n`);
    });
}
