import type { Principal } from '../../../app/access/principal.ts'
import type { ResolveMediaFiles } from '../../../app/uploads/media-files.ts'
import type { LongText } from '../../../domain/families/checks/strict-data-uri.ts'
import type { MediaItem } from '../rules/content.ts'
import type { ResolveHost } from '../../../kernel/public-url.ts'
import { publicUrl } from '../../../api/kit/public-url.ts'

/** What of a request's media takes more than the request to judge. */

export interface MediaDeps {
  readonly resolveHost: ResolveHost
  readonly resolveMediaFiles: ResolveMediaFiles
}

export interface LocatedMedia {
  /** Where an item's media is for upstream. */
  readonly urlOf: (item: MediaItem) => LongText
  /** The one account that has the uploaded files among it. */
  readonly channelId: string | undefined
}

/**
 * Looks up the hosts and uploaded files among the media, all at once: a request has a dozen at most.
 * @throws DomainError `invalid_request` naming the first item at fault
 */
export async function locateMedia(
  media: readonly MediaItem[],
  principal: Principal,
  { resolveHost, resolveMediaFiles }: MediaDeps,
): Promise<LocatedMedia> {
  const wanted = media.flatMap(({ locator, param }) =>
    locator.from === 'file' ? [{ fileId: locator.fileId, param }] : [],
  )
  const files = await resolveMediaFiles(principal, wanted)
  const urls = new Map<MediaItem, LongText>()
  const located = await Promise.allSettled(
    media.map(async (item) => {
      const { locator, param } = item
      if (locator.from === 'file') {
        const fileId = files?.upstreamIds.get(locator.fileId) ?? locator.fileId
        urls.set(item, `media_file://${fileId}`)
      } else
        urls.set(
          item,
          locator.from === 'web' ? await publicUrl(locator.url, param, resolveHost) : locator.url,
        )
    }),
  )
  for (const one of located) if (one.status === 'rejected') throw one.reason
  return { urlOf: (item) => urls.get(item) ?? '', channelId: files?.channelId }
}
