import type { SandboxFamily } from './family.ts'
import { videoA } from './video-a/routes.ts'

/** Every simulated upstream. */
export const families: readonly SandboxFamily[] = [videoA]
