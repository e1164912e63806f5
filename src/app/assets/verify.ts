import { ownVerification, type VerificationState } from '../../domain/verification/decider.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import { newAssetGroupId } from '../../kernel/ids.ts'
import { callOptions, callUpstream } from '../channels/call-upstream.ts'
import { callPaced } from '../channels/paced-calls.ts'
import { keyedHash } from '../../kernel/keyed-hash.ts'
import { ProviderError } from '../ports/provider.ts'
import { callerOf, callerContext, policyContext } from './actor.ts'
import type { AssetDeps } from './deps.ts'
import { libraryAt, libraryFor, libraryRegionOf, projectOf, requireRegion } from './library.ts'
import { queryRefusal } from './refusals.ts'
import { onGroup, onVerification, readVerification } from './streams.ts'
import type { AssetUseCases } from './types.ts'

/**
 * Verifications of real persons. The gateway passes on the one-time credential and stores none of
 * it: a keyed hash names the verification, so that only the bearer of the credential finds it.
 */

/** Hexadecimal digits of the hash: enough that none can be guessed. */
const ID_DIGITS = 40
/** A caller waits no longer for a result, including the turn. */
const RESULT_TIMEOUT_MS = 20_000

export function createVerifications(
  deps: AssetDeps,
): Pick<AssetUseCases, 'startVerification' | 'verificationResult'> {
  return {
    startVerification: (order) => startVerification(deps, order),
    verificationResult: (key) => verificationResult(deps, key),
  }
}

function idOf({ markerSecret }: AssetDeps, credential: string): string {
  return keyedHash(markerSecret, 'verification', [credential]).toString('hex').slice(0, ID_DIGITS)
}

async function startVerification(
  deps: AssetDeps,
  order: Parameters<AssetUseCases['startVerification']>[0],
): ReturnType<AssetUseCases['startVerification']> {
  const { clock, crashPoint, provider } = deps
  const place = libraryRegionOf(deps, order)
  const { principal, requestId, callbackUrl } = order
  const { tenantId } = principal
  const channel = libraryFor(deps, tenantId, place, true)
  const projectName = projectOf(order.projectName)
  return deps.libraryConcurrency.run(channel.id, async () => {
    await deps.log.ready()
    const reserved = await deps.throttle.request(principal)
    const wanted = { callbackUrl, projectName }
    const ticket = await callUpstream(deps, channel, 'verify', () =>
      provider.startVerification(channel, wanted, callOptions(requestId)),
    ).catch((error: unknown) => {
      reserved?.release('not_started')
      throw asRefusal(error)
    })
    crashPoint('verification.after-provider')
    const nowMs = clock.nowMs()
    const verificationId = idOf(deps, ticket.credential)
    const verification = {
      verificationId,
      ...callerOf(order),
      region: place.region,
      projectName,
      channelId: channel.id,
      groupId: newAssetGroupId(nowMs),
      startedAt: toTimestamp(nowMs),
      expiresAt: toTimestamp(nowMs + deps.assetLimits.verificationMs),
    }
    const context = { ...callerContext(order), isNew: true } as const
    await onVerification(deps, verificationId, { kind: 'start', verification }, context)
    crashPoint('verification.after-started')
    return ticket
  })
}

async function verificationResult(
  deps: AssetDeps,
  key: Parameters<AssetUseCases['verificationResult']>[0],
): ReturnType<AssetUseCases['verificationResult']> {
  const { clock, crashPoint, provider } = deps
  const { credential, principal, requestId } = key
  libraryRegionOf(deps, key)
  const verificationId = idOf(deps, credential)
  const state = ownVerification(await readVerification(deps.log, verificationId), principal)
  const { projectName, region, channelId } = state.verification
  if (projectOf(key.projectName) !== projectName) throw notFound()
  requireRegion(deps, key, region)
  if (state.phase === 'confirmed') return { groupId: await personGroup(deps, state, requestId) }
  const channel = libraryAt(deps, { channelId, region })
  return deps.libraryConcurrency.run(channelId, async () => {
    const asked = { credential, projectName }
    const options = callOptions(requestId, AbortSignal.timeout(RESULT_TIMEOUT_MS))
    // Callers poll this, so they share the account's pace with the other readers.
    const seen = await callPaced(deps, channel, 'verify', options.signal, () =>
      provider.verificationResult(channel, asked, options),
    ).catch((error: unknown) => {
      throw asRefusal(error)
    })
    crashPoint('verification.after-result')
    if (seen.kind !== 'passed') {
      if (seen.kind === 'gone') throw notFound()
      return { groupId: undefined }
    }
    const { nativeGroupId } = seen
    const at = toTimestamp(clock.nowMs())
    const command = { kind: 'confirm', nativeGroupId, at } as const
    const context = policyContext(deps, principal.tenantId, requestId)
    const next = await onVerification(deps, verificationId, command, context)
    crashPoint('verification.after-confirmed')
    // The verification may have expired in the meantime.
    return { groupId: await personGroup(deps, ownVerification(next, principal), requestId) }
  })
}

/** Creates the group of a verified person unless it exists; returns its id. */
export async function personGroup(
  deps: AssetDeps,
  state: VerificationState,
  requestId?: string,
): Promise<string | undefined> {
  if (state.phase !== 'confirmed') return undefined
  const { verification, nativeGroupId: nativeId, confirmedAt: createdAt } = state
  const { startedAt: _startedAt, expiresAt: _expiresAt, ...kept } = verification
  const { groupId, tenantId } = kept
  const details = { groupType: 'LivenessFace', name: '', description: '', createdAt } as const
  const command = { kind: 'create', group: { ...kept, ...details }, nativeId } as const
  // The command id is always the same, so the group is created once, whichever process is first.
  const context = { ...policyContext(deps, tenantId, requestId), commandId: kept.verificationId }
  await onGroup(deps, groupId, command, context)
  return groupId
}

function notFound(): DomainError {
  return new DomainError('verification_not_found', 'the verification does not exist', {})
}

/** A retry is harmless: it costs and stores nothing. */
function asRefusal(error: unknown): unknown {
  return error instanceof ProviderError ? queryRefusal(error) : error
}
