import { randomBytes } from 'node:crypto'
import type { Queryable } from '../../projections/engine/queryable.ts'
import { isSecretNoted, MarkerSecretError, replaceSecret } from '../app/access/secret-agreement.ts'
import { migrateOps } from '../app/migrations.ts'
import { dataFiles, type Config } from '../config.ts'
import { show } from './output.ts'
import { replaceFile } from '../kernel/durable-files.ts'
import { readIfThere } from './private-files.ts'
import type { Session } from './session.ts'

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
export async function replaceMarkerSecret(
  session: Session,
  options: { json?: boolean },
): Promise<void> {
  await migrateOps(session.pool)
  const { markerSecret: given, dataDir } = session.config
  const { markerSecret: path } = dataFiles(dataDir)
  const known = given ?? (await readIfThere(path))
  const secret = known === undefined || known === '' ? await makeSecret(path) : known
  const replaced = await replaceSecret(session.pool, secret)
  show({ outcome: replaced ? 'replaced' : 'known' }, options.json)
}
