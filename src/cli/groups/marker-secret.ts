import type { Command } from 'commander'
import { JSON_OPTION, ON_ANY_STORES, onStores } from '../command.ts'

const REPLACE_HELP = `
Replicas refuse to start with another MARKER_SECRET than the others have. To change it, stop every replica,
set the new one, run this, start them again. What was made under the old one is not known again: response
ids that callers hold are answered as unknown, an Idempotency-Key begins anew, and a creation whose outcome
was uncertain is no longer found upstream by its marker. Let such tasks end first.`

/** Registers `tollgate marker-secret …`. */
export function addMarkerSecret(program: Command): void {
  program
    .command('marker-secret')
    .description('the key that all replicas share')
    .command('replace')
    .description('make the MARKER_SECRET that is set here the one that replicas must have')
    .option(...JSON_OPTION)
    .addHelpText('after', REPLACE_HELP)
    .action(
      onStores(
        async () => (await import('../marker-secret.ts')).replaceMarkerSecret,
        ON_ANY_STORES,
      ),
    )
}
