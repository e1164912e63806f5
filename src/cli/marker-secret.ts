import type { Command } from 'commander'
import { randomBytes } from 'node:crypto'
import type { Queryable } from '../../projections/engine/queryable.ts'
import { isSecretNoted, MarkerSecretError, replaceSecret } from '../app/access/secret-agreement.ts'
import { dataFiles, type Config } from '../config.ts'
import { show } from './output.ts'
import { replaceFile } from '../platform/durable-files.ts'
import { readIfThere } from './private-files.ts'
import type { Session } from './session.ts'
import { JSON_OPTION, ON_ANY_STORES, onStores } from './command.ts'

const REPLACE_HELP = `
A replica refuses to start if its MARKER_SECRET is not that of the others. To change it, stop every replica, set the
new secret, run this command, and start them again. Data made with the old secret is not recognized any more:
response ids that callers hold are unknown, an Idempotency-Key can be used again, and a creation of unknown outcome
is no longer found upstream by its marker. Wait until such tasks have ended.`

/** Registers `tollgate marker-secret …`. */
export function addMarkerSecret(program: Command): void {
  program
    .command('marker-secret')
    .description('the key that all replicas share')
    .command('replace')
    .description('make the configured MARKER_SECRET the one that replicas must have')
    .option(...JSON_OPTION)
    .addHelpText('after', REPLACE_HELP)
    .action(onStores(replaceMarkerSecret, ON_ANY_STORES))
}

/**
 * The key of this configuration; the embedded default makes its own once and keeps it.
 * @throws MarkerSecretError where the database was used with one that is no longer there
 */
export async function markerSecretOf(config: Config, db: Queryable): Promise<string> {
  const { markerSecret: path } = dataFiles(config.dataDir)
  const known = config.markerSecret ?? (await readIfThere(path))
  if (known !== undefined && known !== '') return known
  if (await isSecretNoted(db))
    throw new MarkerSecretError(
      `${path} is ${known === '' ? 'empty' : 'missing'}, and this database was used with the secret in ` +
        'it: put it back from a backup. Without one, tollgate marker-secret replace makes another; what ' +
        'the old one marked is then not found upstream, and webhooks are signed with another key',
    )
  return makeSecret(path)
}

/** On the disk before it is used. */
async function makeSecret(path: string): Promise<string> {
  const secret = randomBytes(32).toString('base64url')
  await replaceFile(path, secret)
  return secret
}

/** `tollgate marker-secret replace`. */
async function replaceMarkerSecret(session: Session, options: { json?: boolean }): Promise<void> {
  const { markerSecret: given, dataDir } = session.config
  const { markerSecret: path } = dataFiles(dataDir)
  const known = given ?? (await readIfThere(path))
  const secret = known === undefined || known === '' ? await makeSecret(path) : known
  const replaced = await replaceSecret(session.pool, secret)
  show({ outcome: replaced ? 'replaced' : 'known' }, options.json)
}
