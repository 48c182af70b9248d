import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import type {
  Config,
  EndRequest,
  Ended,
  ErrorBody,
  History,
  Plan,
  Report,
  RunRequest,
  Snapshot
} from './wire';

/** Our root below the server's base URL. */
export const ROOT = 'jupyterlab-vram';

/**
 * Why a request failed.
 *
 * - `missing`: nothing answers at our root; the server part is not installed or not enabled.
 * - `forbidden`: this user may not do that, or is not signed in any more (401, 403).
 * - `refused`: the server part answered with another 4xx; `message` is its sentence.
 * - `failed`: the server answered, but not in our words (5xx, a proxy's page).
 * - `unreachable`: no answer.
 */
export type FailureKind =
  'missing' | 'forbidden' | 'refused' | 'failed' | 'unreachable';

/** A request that failed; `message` is a sentence for people, the server's own where it gave one. */
export class VramRequestError extends Error {
  constructor(
    readonly kind: FailureKind,
    message: string,
    /** What may be done about it, in the server's words. */
    readonly reason: string | null = null
  ) {
    super(message);
    this.name = 'VramRequestError';
  }
}

/** The server part's REST routes. Every method throws `VramRequestError`. */
export class VramClient {
  constructor(readonly serverSettings: ServerConnection.ISettings) {}

  snapshot(): Promise<Snapshot> {
    return this._request('GET', ['snapshot']);
  }

  config(): Promise<Config> {
    return this._request('GET', ['config']);
  }

  configure(config: Config): Promise<Config> {
    return this._request('PUT', ['config'], config);
  }

  plan(kernelId: string): Promise<Plan> {
    return this._request('GET', ['kernels', kernelId, 'plan']);
  }

  run(kernelId: string, request: RunRequest): Promise<Report> {
    return this._request('POST', ['kernels', kernelId, 'remedies'], request);
  }

  /** Cancel a run that waits, or stop one after the step under way. */
  cancel(kernelId: string): Promise<Report> {
    return this._request('DELETE', ['kernels', kernelId, 'remedies']);
  }

  end(request: EndRequest): Promise<Ended> {
    return this._request('POST', ['holders', 'end'], request);
  }

  /**
   * @param span - Seconds back from now.
   * @param gpu - The uuid of the only GPU wanted.
   */
  history(span: number, gpu?: string): Promise<History> {
    const query = URLExt.objectToQueryString(
      gpu === undefined ? { span } : { span, gpu }
    );
    return this._request('GET', ['history'], undefined, query);
  }

  private async _request<T>(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string[],
    body?: unknown,
    query = ''
  ): Promise<T> {
    const url =
      URLExt.join(
        this.serverSettings.baseUrl,
        ROOT,
        ...path.map(encodeURIComponent)
      ) + query;
    const init: RequestInit = { method };
    if (body !== undefined) {
      init.body = JSON.stringify(body);
    }
    let response: Response;
    let text: string;
    try {
      response = await ServerConnection.makeRequest(
        url,
        init,
        this.serverSettings
      );
      text = await response.text();
    } catch (error) {
      throw new VramRequestError(
        'unreachable',
        error instanceof Error ? error.message : String(error)
      );
    }
    const data = Private.parse(text);
    if (response.ok && data !== undefined) {
      return data as T;
    }
    throw Private.failure(response, data);
  }
}

namespace Private {
  /** The JSON value, or `undefined` where a server or proxy answered with something else. */
  export function parse(text: string): unknown {
    try {
      return JSON.parse(text);
    } catch {
      return undefined;
    }
  }

  function isErrorBody(data: unknown): data is ErrorBody {
    return (
      typeof data === 'object' &&
      data !== null &&
      typeof (data as ErrorBody).message === 'string'
    );
  }

  export function failure(response: Response, data: unknown): VramRequestError {
    const { status, statusText } = response;
    const body = isErrorBody(data) ? data : null;
    const message =
      body?.message || [status, statusText].filter(Boolean).join(' ');
    return new VramRequestError(
      kind(status, body !== null),
      message,
      body?.reason ?? null
    );
  }

  function kind(status: number, inOurWords: boolean): FailureKind {
    if (status === 401 || status === 403) {
      return 'forbidden';
    }
    if (status === 404 && !inOurWords) {
      // An unknown kernel is a 404 with a sentence; Jupyter's page for unknown routes has none.
      return 'missing';
    }
    return status >= 400 && status < 500 && inOurWords ? 'refused' : 'failed';
  }
}
