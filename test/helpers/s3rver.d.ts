/** The used part of `s3rver`, which has no types. */
declare module 's3rver' {
  import type { Server } from 'node:http'

  export default class S3rver {
    constructor(options: {
      readonly address: string
      readonly port: number
      readonly silent: boolean
      readonly directory: string
      readonly configureBuckets: readonly { readonly name: string }[]
    })
    readonly httpServer: Server
    run(): Promise<{ readonly address: string; readonly port: number }>
    close(): Promise<void>
  }
}
