import { textSandbox } from '../../kit/text/sandbox.ts'

/** The sandbox as this wire's upstream. */
export const chatSandbox = textSandbox('chat', '/v1')
