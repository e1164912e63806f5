import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { families } from './caller.ts'
import { pricedModels } from './prices.ts'

/** Upstream's name of a model. */
const VERSION = '2026-01-15'
/** The one model whose channels give up on callers who left: their streams are estimated. */
export const IMPATIENT_MODEL = 'text-reason'
const LARGEST_OUTPUT_TOKENS = 8_192
const IMPATIENT_DRAIN_MS = 150

/** Writes the channel file: a channel of each family, and an impatient one of each beside it. */
export async function writeTextChannels(directory: string, sandboxUrl: string): Promise<string> {
  const named = (models: readonly string[]) =>
    Object.fromEntries(models.map((model) => [model, `${model}-${VERSION}`]))
  const largest = (models: readonly string[]) =>
    Object.fromEntries(models.map((model) => [model, LARGEST_OUTPUT_TOKENS]))
  const channels = families.flatMap((family) => {
    const base = {
      family,
      region: 'overseas',
      base_url: `${sandboxUrl}/${family === 'native' ? 'v1beta' : 'v1'}`,
      credential: { env: 'FAULTS_UPSTREAM_KEY' },
    }
    const patient = pricedModels.filter((model) => model !== IMPATIENT_MODEL)
    return [
      { ...base, id: family, models: named(patient), largest_output_tokens: largest(patient) },
      {
        ...base,
        id: `${family}-impatient`,
        models: named([IMPATIENT_MODEL]),
        largest_output_tokens: largest([IMPATIENT_MODEL]),
        drain_timeout_ms: IMPATIENT_DRAIN_MS,
      },
    ]
  })
  const path = join(directory, 'channels.yaml')
  // JSON is YAML.
  await writeFile(path, JSON.stringify({ channels }, undefined, 2))
  return path
}
