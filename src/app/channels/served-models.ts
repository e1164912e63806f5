import type { ServedModel } from '../../domain/catalog/catalog.ts'
import type { Channel } from '../ports/provider.ts'

/** The models that channels serve, each model of a family once. */
export function servedModels(
  channels: readonly Pick<Channel, 'family' | 'models'>[],
): readonly ServedModel[] {
  const served = new Map<string, ServedModel>()
  for (const { family, models } of channels)
    for (const model of Object.keys(models)) served.set(`${family} ${model}`, { family, model })
  return [...served.values()]
}
