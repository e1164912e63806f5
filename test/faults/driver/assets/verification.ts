import type { Tenant } from '../caller.ts'
import { modelOf, regions } from './regions.ts'
import { mayPass, sessionSwitches } from './switches.ts'
import { act, addressWith, resultOf } from './wire.ts'
import type { SeenSession } from './witness.ts'
import { type LibraryWorker, nextMarker, type OpenSession } from './worker.ts'

/** Persons are sent to the page, press a button or go away; then the result is asked for. */

const PAGE_TIMEOUT_MS = 5_000
const MOST_OPEN = 6
/** Not much longer a verification may be confirmed. */
const CERTAIN_MS = 20 * 60_000

export async function beginSession(worker: LibraryWorker, tenant: Tenant): Promise<void> {
  const { dice, witness, open } = worker
  const region = dice.pick(regions)
  const marker = nextMarker(worker)
  const switches = sessionSwitches(dice)
  const session = witness.assets.session(marker, tenant.tenantId)
  const body = { model: modelOf(region), CallbackURL: addressWith(switches, marker) }
  const answer = await act(tenant.call, 'CreateVisualValidateSession', body)
  if (answer?.status !== 200) return
  const { ProviderToken: credential, H5Link: link } = resultOf(answer)
  if (typeof credential !== 'string' || typeof link !== 'string')
    return witness.differ('id_withheld', marker, 'a verification was answered 200 without its link')
  const wish = dice.weighted<SeenSession['outcome']>([
    [8, 'pass'],
    [1, 'fail'],
    [1, undefined],
  ])
  const pressed = wish === undefined ? 'refused' : await press(link, wish)
  // Whether the page took it nobody knows then: nothing is to be learnt from it.
  if (pressed === undefined) return
  if (pressed === 'taken') session.outcome = wish
  const begunMs = performance.now()
  open.push({ session, tenant, region, credential, mayPass: mayPass(switches), begunMs })
  if (open.length > MOST_OPEN) open.shift()
}

/** Does what the person's browser does; what the page made of it, if it answered. */
async function press(
  link: string,
  outcome: 'pass' | 'fail',
): Promise<'taken' | 'refused' | undefined> {
  try {
    const { status } = await fetch(link, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams({ outcome }),
      signal: AbortSignal.timeout(PAGE_TIMEOUT_MS),
    })
    return status === 303 ? 'taken' : 'refused'
  } catch {
    return undefined
  }
}

export async function askForResult(worker: LibraryWorker): Promise<void> {
  const { dice, open } = worker
  const asked = dice.pick(open)
  const [answer] = await Promise.all([
    resultFor(worker, asked),
    // An answer that comes twice is the same.
    dice.chance(0.3) ? resultFor(worker, asked) : undefined,
  ])
  if (answer === 'over') open.splice(open.indexOf(asked), 1)
}

async function resultFor(
  { witness }: LibraryWorker,
  { session, tenant, region, credential, mayPass, begunMs }: OpenSession,
): Promise<'over' | undefined> {
  const { marker, outcome } = session
  const body = { model: modelOf(region), ProviderToken: credential }
  const answer = await act(tenant.call, 'GetVisualValidateResult', body)
  if (answer?.status === 404) {
    if (outcome === 'pass' && mayPass && performance.now() - begunMs < CERTAIN_MS)
      witness.differ('verification_lost', marker, 'a person who passed is not found')
    return 'over'
  }
  if (answer?.status !== 200) return undefined
  const { GroupId: id } = resultOf(answer)
  if (typeof id !== 'string') {
    witness.differ('bad_answer', marker, 'a result without a group')
    return undefined
  }
  if (id === '') return undefined
  if (outcome !== 'pass') witness.differ('verified_in_vain', marker, outcome ?? 'nothing')
  session.groupIds.add(id)
  witness.assets.group({ id, tenantId: tenant.tenantId, region, isPerson: true })
  return 'over'
}
