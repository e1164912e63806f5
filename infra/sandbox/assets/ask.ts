import { credentialHash } from '../calls/store.ts'
import type { FamilyKit } from '../family.ts'
import type { Faults } from '../faults/vocabulary.ts'
import type { Fields } from '../kit/body.ts'
import { randomBase36 } from '../kit/random.ts'
import type { Caller } from './authorize.ts'
import { stampOf } from './envelope.ts'
import { projectOf } from './members.ts'
import type { Accepted } from './record.ts'

/** A request whose signature is right. */
export interface Ask extends Caller {
  readonly body: Fields
  readonly faults: Faults
  /** Of `[[client=…]]`, else the name that is given. */
  readonly clientMarker: string | null
  readonly clientRequestId: string | null
}

type Kit = Pick<FamilyKit, 'assets' | 'clock' | 'random'>

/** A free id, such as `asset-20260102030405-a1b2c`; taken from now on. */
export function freshId({ assets, clock, random }: Kit, prefix: 'asset' | 'group'): string {
  const stamp = stampOf(clock.nowMs())
  return assets.freshId(() => `${prefix}-${stamp}-${randomBase36(random, 5)}`)
}

/** The beginning of the record of what is asked for. @throws Refusal */
export function openingOf(kit: Kit, ask: Ask, newId: () => string): Accepted {
  const { region, accessKeyId, clientMarker, clientRequestId } = ask
  const projectName = projectOf(ask.body)
  return {
    seq: kit.assets.newSeq(),
    id: newId(),
    region,
    projectName,
    acceptedAtMs: kit.clock.nowMs(),
    clientMarker,
    clientRequestId,
    credential: credentialHash(accessKeyId),
  }
}
