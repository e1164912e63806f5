import type { Queryable } from '../../../projections/engine/queryable.ts'
import { rowsByKey } from '../../../projections/engine/audited-rows.ts'
import { sourceOf, type AnyEventType } from '../../domain/any-event.ts'
import { voiceKey } from '../../domain/voice/events.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'
import { tenants, tokens, type Told } from './access-walk.ts'
import { assetGroups, assets, verifications } from './asset-walk.ts'
import { rowMissing } from './compare.ts'
import { files, uploads, voices } from './file-walk.ts'
import type { Findings } from './findings.ts'

/** The event types whose events each create a row in a read model's table. */
const beginnings: readonly {
  readonly model: string
  readonly told: Told
  readonly type: AnyEventType
}[] = [
  { model: 'access', told: tenants, type: 'TenantOpened' },
  { model: 'access', told: tokens, type: 'TokenIssued' },
  { model: 'files', told: files, type: 'FileUploaded' },
  { model: 'voices', told: uploads, type: 'MediaUploaded' },
  { model: 'voices', told: voices, type: 'VoiceCloned' },
  { model: 'assets', told: assets, type: 'AssetCreated' },
  { model: 'assets', told: assetGroups, type: 'AssetGroupCreated' },
  { model: 'assets', told: verifications, type: 'VerificationStarted' },
]

/** Checks that tenants, tokens, files, assets and the like that begin in a stretch have rows. */
export async function comparePresence(
  db: Queryable,
  events: readonly RecordedEvent[],
  findings: Findings,
  follows: (model: string) => boolean,
): Promise<void> {
  for (const { model, told, type } of beginnings) {
    const begun = new Map<string, RecordedEvent>()
    for (const event of events)
      if (event.type === type && follows(model)) begun.set(keyOf(event), event)
    for (const row of await rowsByKey(db, told.table, told.by, [...begun.keys()]))
      begun.delete(String(row[told.by]))
    for (const [key, { position, data }] of begun) {
      const name = { table: told.table.name, key, position }
      findings.push(rowMissing(name, 'tenantId' in data ? { tenant_id: data.tenantId } : {}))
    }
  }
}

function keyOf(event: RecordedEvent): string {
  if (event.type === 'VoiceCloned') return voiceKey(event.data)
  return sourceOf(event) ?? ('tenantId' in event.data ? event.data.tenantId : '')
}
