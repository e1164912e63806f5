import { sharerOf } from '../../../domain/token/sharer.ts'
import { fromTimestamp } from '../../../kernel/clock.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { waitingTasks } from '../../../../projections/tasks/query.ts'
import { checkImageCount } from '../../calls/images/deliver.ts'
import { createFetchRooms, readyImages, type ReadyImages } from '../../calls/images/inputs.ts'
import { noChannelError } from '../../channels/attempt.ts'
import { createTaskWith } from '../create-task.ts'
import type { TaskOrder } from '../types.ts'
import type { ImageMedia, ImageTaskDeps } from './deps.ts'
import { hashOfOrder, keepPayload, removePayload } from './payload.ts'
import type { CreateImageTaskInput, ImageTaskUseCases } from './types.ts'

/** A request refused because too many wait may be retried after this. */
const QUEUE_RETRY_MS = 10_000

interface ImageTaskOrder extends TaskOrder {
  readonly media: ImageMedia
  readonly images: ReadyImages
}

/**
 * Accepts an order: first the request goes into storage, then the hold, then `TaskRequested`. The
 * purge removes a payload whose event is missing.
 */
export function createCreateImageTask(deps: ImageTaskDeps): ImageTaskUseCases['create'] {
  const create = createTaskWith<ImageTaskOrder>(deps, {
    choose: ({ principal }, channelQuery) => {
      const sharer = sharerOf(principal)
      const [channel] = deps.channels.serving(channelQuery)
      if (channel === undefined) throw noChannelError(deps, sharer, channelQuery, {})
      // Nothing is sent now, so no channel is held: the worker chooses one later.
      return { channel, sharer, release: () => undefined }
    },
    keep: async ({ media, images }, request) => {
      await refuseWhenFull(deps, request.tenantId)
      await keepPayload({ ...deps, media }, request, images)
      deps.crashPoint('image.after-payload')
    },
    discard: async (request) =>
      deps.media && removePayload({ ...deps, media: deps.media }, request),
    finish: async (_order, { request: { platformId, requestedAt } }) =>
      Promise.resolve({
        platformId,
        nativeId: platformId,
        replayed: false,
        createdAtMs: fromTimestamp(requestedAt),
      }),
  })

  const rooms = createFetchRooms()
  /** Pictures in a form need no fetch; a shutdown does not abort the fetch of others. */
  const ready = async (input: Pick<CreateImageTaskInput, 'principal' | 'request'>) => {
    const room = rooms.enter()
    try {
      return await readyImages(deps, input, room, new AbortController().signal)
    } finally {
      room.leave()
    }
  }

  return async ({ request, ...input }) => {
    const media = await reachableMedia(deps)
    const { family, model, principal } = input
    checkImageCount(model, request.count, deps.channels.serving({ family, model }))
    const images = await ready({ principal, request })
    return create({
      ...input,
      media,
      images,
      facts: images.facts,
      bodyHash: input.idempotencyKey === undefined ? '' : hashOfOrder(images),
    })
  }
}

/** Requires storage with public URLs. @throws DomainError `storage_not_configured` */
async function reachableMedia({ media, clock }: ImageTaskDeps): Promise<ImageMedia> {
  const url = await media?.store.publicUrl('results/reachable', clock.nowMs() + 1_000)
  if (media === undefined || url === undefined)
    throw new DomainError(
      'storage_not_configured',
      'No object storage is configured for images',
      {},
    )
  return media
}

/**
 * Counts up to the bound only. Tasks accepted a moment ago are not counted yet, so the bounds are
 * exceeded by at most their number.
 */
async function refuseWhenFull({ pool, imageLimits }: ImageTaskDeps, tenantId: string) {
  const { maxWaiting } = imageLimits
  const { all, own } = await waitingTasks(pool, { tenantId, limit: maxWaiting })
  if (own < maxWaiting - all) return
  const [limit, whose] = all < maxWaiting ? [own, 'of yours '] : [maxWaiting, '']
  throw new DomainError(
    'rate_limited',
    `Too many images ${whose}are waiting (${limit}); nothing was started`,
    { limitedBy: 'queue', limit, retryAfterMs: QUEUE_RETRY_MS },
  )
}
