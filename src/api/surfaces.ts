import type { Envelope } from './kit/envelope.ts'
import { type Mount, mountOf, type Surface, type Tag } from './kit/routes/surface.ts'
import { operatingEnvelope } from './operating/envelope.ts'
import { queryEnvelope } from './query/envelope.ts'
import { v1 } from './v1/mount.ts'

/** Mounts of surfaces, each once, in the order of the first surface of each. */
export function mountsOf(surfaces: readonly Pick<Surface, 'mount'>[]): readonly Mount[] {
  return [...new Set(surfaces.map(({ mount }) => mount))]
}

/** Sections of the OpenAPI description: those of the shared mount first. */
export function tagsOf(mounts: readonly Mount[]): readonly Tag[] {
  return [v1, ...mounts].flatMap(({ tags = [] }) => tags)
}

/** The error shape of a URL, even if no route or plugin handles it. */
export function envelopesOf(mounts: readonly Mount[]): (url: string) => Envelope {
  const all: readonly Mount[] = [
    ...mounts,
    { prefix: '/api', envelopeOf: () => queryEnvelope, bodyBytes: 0 },
  ]
  return (url) => mountOf(all, url)?.envelopeOf?.(url) ?? operatingEnvelope
}
