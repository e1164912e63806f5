import type { TextSettings } from '../settings.ts'
import type { SandboxAccount } from '../../../app/ports/provider.ts'

/** Models the sandbox offers on every text wire; the shipped price book has prices for them. */
const MODELS = [
  'text-basic',
  'text-cache',
  'text-reason',
  'text-tools',
  'gen-3-pro-preview-file',
] as const
/** The sandbox answers with as much as it is told to; its models are taken for small ones. */
const LARGEST_OUTPUT_TOKENS = 8_192
/** Answers name this version of each of them. */
const VERSION = '2026-01-15'

const settings: TextSettings = {
  largestOutputTokens: Object.fromEntries(MODELS.map((name) => [name, LARGEST_OUTPUT_TOKENS])),
  vectorStores: ['*'],
}

/** The sandbox as the upstream of a text wire. */
export function textSandbox(family: string, path: string): SandboxAccount {
  return {
    id: `sandbox-${family}`,
    family,
    region: 'overseas',
    path,
    models: Object.fromEntries(MODELS.map((name) => [name, `${name}-${VERSION}`])),
    settings,
  }
}
