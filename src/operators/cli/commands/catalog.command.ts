import type { Command } from 'commander';
import type { CliSurroundings } from '../cli-context.ts';
import { readCatalog } from '../read-catalog.ts';

/** `tollgate catalog` */
export function addCatalogCommand(program: Command, surroundings: CliSurroundings): void {
  program
    .command('catalog')
    .description('what is sold, and who serves it')
    .command('check')
    .description('check a tollgate.yaml the way a start does; needs no running service')
    .argument('<file>', 'the environment variables it refers to must be set')
    .action(async (file: string) => {
      const { models, engines } = await readCatalog(file, surroundings.environment);
      surroundings.stdout.write(`${file}: no mistake (models: ${models.size}, engines: ${engines.length})\n`);
    });
}
