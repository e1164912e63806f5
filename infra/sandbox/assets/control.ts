import type { FastifyInstance } from 'fastify'
import { guarded, MAX_PAGE, numberIn } from '../control.ts'
import type { FamilyKit } from '../family.ts'
import { libraryViews, type LibraryFilter } from './view.ts'

function filterOf(query: URLSearchParams): LibraryFilter {
  return {
    region: query.get('region'),
    client_marker: query.get('client_marker'),
    client_request_id: query.get('client_request_id'),
  }
}

/** A page of what was accepted; `next_after` is null on the last one. */
function page(all: readonly { readonly seq: number }[], query: URLSearchParams): object {
  const after = numberIn(query, 'after', 0, Number.MAX_SAFE_INTEGER)
  const limit = Math.max(1, numberIn(query, 'limit', 1000, MAX_PAGE))
  const rest = all.filter(({ seq }) => seq > after)
  const items = rest.slice(0, limit)
  const last = items.at(-1)
  const more = last !== undefined && rest.length > items.length
  return { items, next_after: more ? last.seq : null, total: all.length }
}

/** What the libraries accepted, for tests that have the sandbox in another process. */
export function addLibraryControls(app: FastifyInstance, kit: FamilyKit): void {
  const views = libraryViews(kit)
  app.get(
    '/__sandbox/assets',
    guarded((_request, query) => page(views.assets(filterOf(query)), query)),
  )
  app.get(
    '/__sandbox/asset-groups',
    guarded((_request, query) => page(views.assetGroups(filterOf(query)), query)),
  )
  app.get(
    '/__sandbox/verifications',
    guarded((_request, query) => page(views.verifications(filterOf(query)), query)),
  )
}
