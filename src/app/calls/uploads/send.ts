import { sharerOf } from '../../../domain/token/sharer.ts'
import { uploadDecider } from '../../../domain/upload/decider.ts'
import { uploadStream } from '../../../domain/upload/events.ts'
import { executeCommand } from '../../../eventlog/log/execute.ts'
import { invariant } from '../../../kernel/assert.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { newUploadId } from '../../../kernel/ids.ts'
import { attempt, endAttempt, noChannelError } from '../../channels/attempt.ts'
import type { ChannelLease, ChannelQuery } from '../../channels/directory.ts'
import { keyedHash } from '../../../kernel/keyed-hash.ts'
import { type Channel, ProviderError } from '../../ports/provider.ts'
import { refusalOf } from '../../channels/refusal.ts'
import type { OwnUpload } from '../../files/uploads/own-upload.ts'
import { type MediaDeps, mediaOf, type UploadInput } from './types.ts'

/** Ids tried until one is free: nearly always the first is. */
const MAX_IDS = 3

/**
 * Streams a file to an account and records its place. The file is sent once: if it is unknown
 * whether it arrived, nothing is recorded, and upstream's copy expires there.
 */
export async function uploadMedia(
  deps: MediaDeps,
  input: UploadInput,
  stopped: AbortSignal,
): Promise<OwnUpload> {
  // While the log is unavailable, the upload could not be recorded.
  await deps.log.ready()
  const reserved = await deps.throttle.request(input.principal)
  try {
    const place = await deps.quota.take(input.principal.tenantId, input.requestId)
    const body = place.counted(input.body)
    const quietly = (work: Promise<void>): Promise<void> =>
      work.catch((error: unknown) =>
        deps.logger.warn({ err: error }, 'the quota for an upload could not be updated'),
      )
    try {
      const sent = await send(deps, { ...input, body }, stopped)
      deps.crashPoint('upload.after-provider')
      const upload = await record(deps, input, sent)
      deps.crashPoint('upload.after-uploaded')
      await quietly(place.keep(upload.fileId))
      return upload
    } catch (error) {
      await quietly(place.release())
      throw error
    }
  } finally {
    reserved?.release('failed')
  }
}

type Sent = Pick<OwnUpload, 'channelId' | 'upstreamFileId' | 'sizeBytes'>

async function send(deps: MediaDeps, input: UploadInput, signal: AbortSignal): Promise<Sent> {
  const { purpose, filename, requestId } = input
  const sharer = sharerOf(input.principal)
  const { family, model, maxBytes } = deps.catalog.uploadPlace(purpose)
  const channelQuery: ChannelQuery = { family, ...(model === undefined ? {} : { model }) }
  const first = leaseFor(deps, input.principal, channelQuery)
  if (first === undefined) throw noChannelError(deps, sharer, channelQuery, {})
  const body = counted(input.body, maxBytes)
  const onFailure = ({ id: channelId }: Channel, error: unknown): void => {
    if (!(error instanceof ProviderError)) return
    const { kind, acceptance, code: upstreamCode } = error
    deps.logger.warn(
      { requestId, channelId, kind, acceptance, upstreamCode },
      'upload failed upstream',
    )
  }
  const plan = { sharer, channelQuery, maxChannels: 1, first, onFailure }
  const attempted = await attempt(deps, plan, async (channel) => {
    try {
      const media = { purpose, filename, body: body.chunks() }
      const taken = await mediaOf(deps, family).upload(channel, media, { signal, requestId })
      if (body.isSent()) return taken
      // An answer that arrives before the end of the file does not count.
      throw new ProviderError('malformed', 'unknown', 'The model service answered too early.')
    } catch (error) {
      // The error of the body is not the provider's fault.
      throw body.fault() ?? error
    }
  })
  switch (attempted.kind) {
    case 'answered': {
      endAttempt(deps, channelQuery, attempted.lease, undefined)
      const { channel } = attempted.lease
      return { channelId: channel.id, ...attempted.result, sizeBytes: body.sizeBytes() }
    }
    case 'failed':
      throw refusalOf(attempted.error, undefined, signal.aborted)
    case 'untried':
      throw noChannelError(deps, sharer, channelQuery, {})
  }
}

/**
 * Keeps a tenant's uploads together if possible, because a voice and its prompt must be at one
 * account. Each tenant has its own order of accounts, the same in every process.
 */
function leaseFor(
  { channels, markerSecret }: MediaDeps,
  principal: UploadInput['principal'],
  channelQuery: ChannelQuery,
): ChannelLease | undefined {
  const sharer = sharerOf(principal)
  const ordered = channels
    .serving(channelQuery)
    .map(({ id }) => ({
      id,
      place: keyedHash(markerSecret, 'upload-place', [principal.tenantId, id]),
    }))
    .toSorted((a, b) => a.place.compare(b.place))
  for (const { id } of ordered) {
    const lease = channels.lease(sharer, { ...channelQuery, channelId: id })
    if (lease !== undefined) return lease
  }
  return undefined
}

/** A body in transit, checked against its bound; nothing of it is stored. */
function counted(body: AsyncIterable<Uint8Array>, maxBytes: number) {
  let sizeBytes = 0
  let fault: unknown
  let isSent = false
  return {
    isSent: () => isSent,
    sizeBytes: () => sizeBytes,
    fault: () => fault,
    chunks: async function* (): AsyncGenerator<Uint8Array, void> {
      try {
        for await (const chunk of body) {
          sizeBytes += chunk.length
          if (sizeBytes > maxBytes) throw tooLarge(maxBytes)
          yield chunk
        }
        isSent = true
      } catch (error) {
        fault = error
        throw error
      }
    },
  }
}

function tooLarge(maxBytes: number): DomainError {
  const said = `\`file\` must be at most ${maxBytes} bytes`
  return new DomainError('object_too_large', said, { param: 'file' })
}

async function record(
  { log, clock, quota }: MediaDeps,
  { principal, requestId, purpose, filename }: UploadInput,
  sent: Sent,
): Promise<OwnUpload> {
  const { tenantId, userId, tokenId } = principal
  const nowMs = clock.nowMs()
  const uploadedAt = toTimestamp(nowMs)
  const expiresAt = toTimestamp(nowMs + quota.limits.lifeMs)
  for (let tries = 0; tries < MAX_IDS; tries += 1) {
    const fileId = newUploadId()
    const by = { tenantId, userId, tokenId }
    const file = { fileId, ...by, ...sent, purpose, filename, uploadedAt, expiresAt }
    const { events } = await executeCommand({
      log,
      stream: uploadStream(fileId),
      decider: uploadDecider,
      command: { kind: 'upload', file },
      commandId: requestId,
      metadata: { correlationId: requestId, tenantId, tokenId },
      known: 'none',
    })
    if (events.length > 0) return file
  }
  invariant(false, 'ids of uploads are spread over 2^52')
}
