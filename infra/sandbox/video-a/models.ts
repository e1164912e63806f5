import type { SandboxOptions } from '../options.ts'

const VERSIONED = /-\d{6}$/
const VIDEO_NAME = /^[a-z0-9][a-z0-9.-]*-video-[a-z0-9.-]+$/
const ENDPOINT = /^ep-[a-z0-9-]+$/
const MAX_NAME_LENGTH = 200

function globMatches(pattern: string, name: string): boolean {
  const source = pattern.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/\*/g, '.*')
  return new RegExp(`^${source}$`).test(name)
}

/** The versioned name this upstream answers with, or null for a model it does not know. */
export function versionedModel(name: string, options: SandboxOptions): string | null {
  if (name.length > MAX_NAME_LENGTH) return null
  if (options.models.some((pattern) => globMatches(pattern, name))) return name
  if (ENDPOINT.test(name) || (VIDEO_NAME.test(name) && VERSIONED.test(name))) return name
  if (!VIDEO_NAME.test(name)) return null
  if (name.includes('-2-5')) return `${name}-260628`
  return name.includes('-mini') ? `${name}-260615` : `${name}-260128`
}

/** Whether the stricter rules of the newer generation hold for a model. */
export function isGeneration25(model: string): boolean {
  return /-2-5(?:-|$)/.test(model)
}

/** Models that render 480p and 720p only. */
export function isSmall(model: string): boolean {
  return /-(?:fast|mini)(?:-|$)/.test(model)
}
