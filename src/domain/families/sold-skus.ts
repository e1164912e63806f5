import { nearestName } from '../../kernel/nearest-name.ts'
import { callFamilyOf } from './calls.ts'
import { VOICE_CLONE } from './speech/models.ts'
import { taskFamilies } from './tasks.ts'
import { textRules } from './text/rules.ts'
import { tokenUnits, toolUnits } from './text/usage.ts'
import type { ServedModel } from '../pricing/coverage.ts'

/** SKUs of every model of the catalog, whether a channel serves it or not, and of tools. */
const catalogSkus: ReadonlySet<string> = new Set([
  ...[...taskFamilies.values()].flatMap(({ models, prices, furtherSkus }) =>
    models.flatMap(({ name }) => [
      ...prices(name).map(({ sku }) => sku),
      ...(furtherSkus?.(name) ?? []),
    ]),
  ),
  VOICE_CLONE,
  ...toolUnits,
])

const TEXT_SKU = new RegExp(`^(.+)-(?:${tokenUnits.join('|')})-token$`)

/** The text model that a SKU is of by its form; undefined where it has another form. */
export function textModelOf(sku: string): string | undefined {
  return catalogSkus.has(sku) ? undefined : TEXT_SKU.exec(sku)?.[1]
}

/**
 * Every SKU that something can be settled at.
 *
 * @param served what channels serve: the names of text models are theirs
 */
export function soldSkus(served: readonly ServedModel[]): ReadonlySet<string> {
  const texts = served.filter(({ family }) => callFamilyOf(family) === textRules)
  return new Set([
    ...catalogSkus,
    ...texts.flatMap(({ model }) => tokenUnits.map((unit) => `${model}-${unit}-token`)),
  ])
}

/** A SKU that nothing sells, and the sold one that it is but for a letter or two. */
export interface UnsoldSku {
  readonly sku: string
  readonly meant: string | undefined
}

/**
 * Those of the SKUs that nothing can be settled at: a slip, or of a model to come.
 *
 * @param served undefined where it is not known: any text model may be served then
 */
export function unsoldSkus(
  skus: readonly string[],
  served: readonly ServedModel[] | undefined,
): readonly UnsoldSku[] {
  const sold = soldSkus(served ?? [])
  return [...new Set(skus)]
    .filter((sku) => !sold.has(sku) && (served !== undefined || textModelOf(sku) === undefined))
    .map((sku) => ({ sku, meant: nearestName(sku, sold) }))
}

/** An unsold SKU in words. */
export function unsoldInWords({ sku, meant }: UnsoldSku): string {
  return meant === undefined ? sku : `${sku} (did you mean ${meant}?)`
}
