import type { SandboxAccount } from '../../../app/ports.ts'

/** The sandbox as this wire's upstream. */
export const genSandbox: SandboxAccount = {
  id: 'sandbox-gen',
  family: 'gen',
  region: 'overseas',
  path: '/gen/v1beta',
  models: {
    'gen-2.5-flash-image': 'painter-2.5-flash-image',
    'gen-3-pro-image-preview': 'painter-3-pro-image-preview',
    'gen-3.1-flash-image': 'painter-3.1-flash-image-preview',
  },
}
