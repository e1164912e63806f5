import type { AssetUseCases, Asking, Naming, Placing } from '../../../app/assets/types.ts'
import type { Channel } from '../../../app/ports.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import type { ResolveHost } from '../../../kernel/public-url.ts'
import { idIn, type Kept, optionalModel, projectName, requiredModel } from './checks.ts'

/** What an action is run with. */
export interface Call {
  readonly asking: Asking
  readonly body: JsonObject
  /** To be told where what the request speaks of is kept, as soon as it is known. */
  readonly noteRegion: (region: Channel['region']) => void
}

export interface ActionDeps {
  readonly assets: AssetUseCases
  readonly resolveHost: ResolveHost
}

/** Reads the body, asks the use case, and gives what stands in `Result`. */
export type RunAction = (call: Call, deps: ActionDeps) => Promise<object>

/** Where something is to be kept. @throws DomainError `invalid_request`, `unknown_model` */
export function placingOf({ asking, body, noteRegion }: Call): {
  readonly placing: Placing
  readonly region: Channel['region']
} {
  const { name: model, region } = requiredModel(body)
  noteRegion(region)
  return { placing: { ...asking, model, projectName: projectName(body) }, region }
}

/** What one may name something by that is kept. @throws DomainError `invalid_request`, `unknown_model` */
export function scopeOf({ asking, body, noteRegion }: Call): Omit<Naming, 'id'> {
  const model = optionalModel(body)
  if (model !== undefined) noteRegion(model.region)
  return { ...asking, model: model?.name, projectName: projectName(body) }
}

/**
 * One thing by its id.
 * @throws DomainError `invalid_request`, `unknown_model`, `asset_not_found`, `asset_group_not_found`
 */
export function namingOf(call: Call, kept: Kept): Naming {
  const scope = scopeOf(call)
  return { ...scope, id: idIn(call.body, kept) }
}
