import type { Principal } from '../../../app/access/principal.ts'
import type { Catalog } from '../../../domain/catalog/catalog.ts'
import { type ImageKind, imageKinds } from '../../../domain/catalog/image-rules.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import { DomainError, isDomainError } from '../../../kernel/errors.ts'
import { didYouMean } from '../../../kernel/nearest-name.ts'
import type { Services } from '../services.ts'

/** The models that a token may use, and the refusal of any other name. */

/** The creation time of a model is not known: all models have this constant Unix second. */
const CREATED_MS = Date.UTC(2026, 0, 1)

const endpointByImageKind: Readonly<Record<ImageKind, string>> = {
  generation: '/v1/images/generations',
  edit: '/v1/images/edits',
}

/** Endpoints at which a model of a family is asked for. */
export function modelEndpoints(catalog: Catalog, family: string, model: string): readonly string[] {
  const own = catalog.endpointsOf(family, model)
  if (own.length > 0) return own
  if (catalog.videoFamilies.some((rules) => rules.family === family)) return ['/v1/videos']
  const images = catalog.imageFamilies.find(({ name }) => name === family)
  return imageKinds
    .filter((kind) => images?.bodies[kind] !== undefined)
    .map((kind) => endpointByImageKind[kind])
}

/**
 * The members of every model: those that clients of chat read, and those of clients of messages. The
 * gateway does not know what is null.
 */
const ofEveryModel = {
  object: 'model',
  created: CREATED_MS / 1_000,
  owned_by: 'gateway',
  type: 'model',
  created_at: toTimestamp(CREATED_MS),
  max_tokens: null,
  max_input_tokens: null,
  capabilities: null,
  line: null,
  lifecycle: 'active',
  deprecated_at: null,
} as const

/** A model as `/v1/models` shows it. */
export type ModelView = typeof ofEveryModel & {
  readonly id: string
  readonly display_name: string
  readonly supported_endpoints: readonly string[]
}

/** The models on sale, and the accounts that serve them. */
export type Models = Services['models']

/** The models that channels serve and a token may use, by name. */
export function listModels(
  { catalog, channels }: Models,
  { models: allowed }: Principal,
): readonly ModelView[] {
  const families = new Map<string, Set<string>>()
  for (const { family, models } of channels.all)
    for (const id of Object.keys(models))
      if (allowed === undefined || allowed.has(id))
        families.set(id, (families.get(id) ?? new Set<string>()).add(family))
  const listed = [...families].map(([id, served]) => ({
    id,
    display_name: id,
    ...ofEveryModel,
    supported_endpoints: [...served]
      .toSorted()
      .flatMap((family) => modelEndpoints(catalog, family, id)),
  }))
  return listed.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

/** @throws DomainError `unknown_model`, also for one the token may not use (P8) */
export function findModel(models: Models, principal: Principal, id: string): ModelView {
  const found = listModels(models, principal).find((model) => model.id === id)
  if (found === undefined)
    throw new DomainError('unknown_model', 'The model does not exist or may not be used', {})
  return found
}

/** The most characters of a name that a refusal repeats. */
const MAX_SHOWN_CHARACTERS = 128

/** Says where a model is taken, else which name is nearly the given one; only of models that the token may use. */
function unknownModel(models: Models, principal: Principal, name: string): string {
  const shown =
    name.length > MAX_SHOWN_CHARACTERS ? `${name.slice(0, MAX_SHOWN_CHARACTERS)}…` : name
  const listed = listModels(models, principal)
  const external = models.catalog.externalModelName(name)
  const endpoints = listed.find(({ id }) => id === external)?.supported_endpoints ?? []
  if (endpoints.length > 0) return `the model \`${shown}\` is for ${endpoints.join(' or ')}`
  const hint = didYouMean(
    name,
    listed.map(({ id }) => id),
  )
  return `there is no model \`${shown}\` here${hint === '' ? ': GET /v1/models lists them' : hint}`
}

/** The refusal of a model in words for its caller; every other failure is returned unchanged. */
export function withModelHint(
  models: Models,
  principal: Principal | undefined,
  error: unknown,
): unknown {
  if (principal === undefined || !isDomainError(error, 'unknown_model')) return error
  const { model } = error.details
  if (typeof model !== 'string') return error
  return new DomainError(error.code, unknownModel(models, principal, model), error.details)
}
