import { currentPriceBook } from '../../../projections/prices/query.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import type { Catalog, ServedModel } from '../../domain/catalog/catalog.ts'
import { didYouMean } from '../../kernel/nearest-name.ts'
import { DomainError } from '../../kernel/errors.ts'
import type { Clock } from '../../kernel/clock.ts'

/** Distinguishes names of models from typing errors. */
interface KnownModels {
  /** The names that no model has. */
  readonly unknown: (names: readonly string[]) => Promise<readonly string[]>
  readonly known: () => Promise<ReadonlySet<string>>
  /** The end of a message about an unknown name. */
  readonly hint: (name: string) => Promise<string>
}

/**
 * A model is known when the catalog has it, a channel serves it, or the book in effect prices it: a
 * price announces a future model.
 */
export function createKnownModels(deps: {
  readonly db: Queryable
  readonly catalog: Catalog
  readonly clock: Clock
  readonly served: readonly ServedModel[]
}): KnownModels {
  const { db, catalog, clock, served } = deps
  const atOnce: ReadonlySet<string> = new Set([
    ...catalog.modelNames,
    ...served.map(({ model }) => model),
  ])
  const priced = async (): Promise<readonly string[]> => {
    const book = await currentPriceBook(db, clock.nowMs())
    return (book?.entries ?? []).flatMap(({ sku }) => catalog.freeModelOf(sku) ?? [])
  }
  const known = async () => new Set([...atOnce, ...(await priced())])
  return {
    unknown: async (names) => {
      const left = names.filter((name) => !atOnce.has(name))
      if (left.length === 0) return []
      const others = new Set(await priced())
      return left.filter((name) => !others.has(name))
    },
    known,
    hint: async (name) => didYouMean(name, await known()),
  }
}

/**
 * Checks the models of a token. An unknown name allows nothing until a model of that name exists,
 * which may be intended: it gives a warning.
 *
 * @throws DomainError `token_models_invalid` for a name that differs from a known one in a letter
 *   or two
 */
export async function checkTokenModels(
  known: KnownModels,
  models: readonly string[] | null | undefined,
): Promise<readonly string[]> {
  const unknown = await known.unknown(models ?? [])
  for (const name of unknown) {
    const hint = await known.hint(name)
    if (hint !== '')
      throw new DomainError('token_models_invalid', `no model has the name \`${name}\`${hint}`, {
        param: 'models',
      })
  }
  return unknown.map(
    (name) => `no model has the name \`${name}\`: the entry has no effect until one has it`,
  )
}
