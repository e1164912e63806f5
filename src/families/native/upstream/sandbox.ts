import { textSandbox } from '../../kit/text/sandbox.ts'

/** The sandbox as this wire's upstream. */
export const nativeSandbox = textSandbox('native', '/v1beta')
