import type { SandboxAccount } from '../../../app/ports.ts'

/** The sandbox as this family's upstream, which has names of its own for the models. */
export const videoBSandbox: SandboxAccount = {
  id: 'sandbox-video-b',
  family: 'video-b',
  region: 'overseas',
  path: '/video-b',
  models: { 'h3-video': 'Sandbox-H3', 'h3-video-max': 'Sandbox-H3-Max' },
}
