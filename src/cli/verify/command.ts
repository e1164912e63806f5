import type { Command } from 'commander'
import { print } from '../output.ts'
import { VERIFY_DESCRIPTION, VERIFY_FILES, VERIFY_HELP, VERIFY_KEY, verifyFiles } from './verify.ts'

/** Registers `tollgate verify`, which asks no store and needs no configuration. */
export function addVerify(program: Command): void {
  program
    .command('verify')
    .description(VERIFY_DESCRIPTION)
    .argument('<file...>', VERIFY_FILES)
    .requiredOption('--key <vkey>', VERIFY_KEY, (vkey, before?: readonly string[]) => [
      ...(before ?? []),
      vkey,
    ])
    .addHelpText('after', VERIFY_HELP)
    .action((files: readonly string[], { key }: { readonly key: readonly string[] }) =>
      verifyFiles(files, key, print),
    )
}
