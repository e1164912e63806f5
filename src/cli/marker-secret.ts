import { randomBytes } from 'node:crypto'
import { replaceSecret } from '../app/access/secret-agreement.ts'
import { migrateOps } from '../app/migrations.ts'
import { dataFiles, type Config } from '../config.ts'
import { show } from './output.ts'
import { readIfThere, writePrivate } from './private-files.ts'
import type { Session } from './session.ts'

/** The key of this configuration; the embedded default makes its own once and keeps it. */
export async function markerSecretOf(config: Config): Promise<string> {
  if (config.markerSecret !== undefined) return config.markerSecret
  const { markerSecret: path } = dataFiles(config.dataDir)
  const known = await readIfThere(path)
  if (known !== undefined && known !== '') return known
  const secret = randomBytes(32).toString('base64url')
  await writePrivate(path, secret)
  return secret
}

/** `tollgate marker-secret replace`. */
export async function replaceMarkerSecret(
  session: Session,
  options: { json?: boolean },
): Promise<void> {
  await migrateOps(session.pool)
  const replaced = await replaceSecret(session.pool, await markerSecretOf(session.config))
  show({ outcome: replaced ? 'replaced' : 'known' }, options.json)
}
