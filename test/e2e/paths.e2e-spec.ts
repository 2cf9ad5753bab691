import { Controller, Get, type INestApplicationContext } from '@nestjs/common';
import { DiscoveryModule, NestFactory } from '@nestjs/core';
import { AccessTable } from '../../src/common/config/access-table.js';
import { CallerResolver } from '../../src/modules/auth/caller-resolver.js';
import { ScopeGuard } from '../../src/modules/auth/scope.guard.js';
import { CHAT, chatBody, contentOf, EdgeWorld, expectProblem } from '../support/edge-world.js';
import { WireUpstream } from '../support/wire-upstream.js';

const BODY = chatBody('path');
const HOST = 'Host: gateway.test';

/** A request line of any bytes, and a body that would be good at the right path. */
const posted = (target: string): string =>
  `POST ${target} HTTP/1.1\r\n${HOST}\r\nContent-Type: application/json\r\nContent-Length: ${String(BODY.length)}\r\n\r\n${BODY}`;

describe('targets and routes', () => {
  let world: EdgeWorld;
  let elsewhere: WireUpstream;

  beforeAll(async () => {
    world = await EdgeWorld.start();
    elsewhere = await WireUpstream.start();
  }, 60_000);

  afterAll(async () => {
    await world.stop();
    await elsewhere.stop();
  });

  beforeEach(() => {
    world.upstream.requests = [];
  });

  afterEach(() => {
    expect(elsewhere.connections).toBe(0);
  });

  /** The only answer to bytes on a connection of their own. */
  const answerTo = async (bytes: string, method = 'POST') => {
    const connection = await world.connect();
    try {
      connection.send(Buffer.from(bytes, 'latin1'));
      return await connection.response({ method });
    } finally {
      connection.destroy();
    }
  };

  describe('P1: a fixed path has one spelling', () => {
    // prettier-ignore
    it.each([
      '/v1/chat%2Fcompletions', '/v1%2fchat/completions', '/%761/chat/completions', '/v1/chat/completion%73',
      '/v1/chat/%63ompletions', '/v1/%2e/chat/completions', '/v1/x/%2e%2e/chat/completions', '//v1/chat/completions',
      '/v1//chat/completions', '/v1/./chat/completions', '/v1/x/../chat/completions', '/v1/chat/completions/..',
      '/v1/chat/completions/.', '/v1/chat/completions/', '/v1/chat/completions;a=b', '/v1;a/chat/completions',
      '/v1\\chat\\completions', '/\\v1/chat/completions', '/V1/chat/completions', '/v1/Chat/Completions',
      '/v1/chat/completions%00', '/v1/chat/completions%20', '/v1/chat/completions%0d%0a', '/v1/chat/completions#x',
      '/v1/chat/completions#?x', '/v1/chat/completions%23', '/v1/chat/completions%3f', '/v1/chat/completions%',
      '/v1/chat/completions%zz', '/v1/chat/completions\xe9', '/v1/chat/completions\xc3\xa9', '/v1/chat/compl\xc5\xbftions',
      '/v1/chat/completions"', '/v1/chat/completions<x>', '/v1/chat/completions{', '/v1/chat/completions|',
      '/v1/chat/completions^', '/v1/chat/completions`', '/v1/alias/chat%2fcompletions', '/v1/alias//chat/completions',
      '/v1/ALIAS/chat/completions', '/v1/alias/chat/completions/', '/healthz/../v1/chat/completions',
      '/plain/../v1/chat/completions', '/plain/%2e%2e/v1/chat/completions', '/plain/..%2fv1/chat/completions',
      '/v1/models/../chat/completions', '/v1/chat/completions/x', '/v1/chat', '/v1', '/', '/llm', '/Plain/x', '/plainx',
      '/%70lain/x', '/plain%2fx', '/metrics',
    ])('%j is refused', async (target) => {
      expectProblem(await answerTo(posted(target)), 400, 404);
      expectProblem(await answerTo(posted(`${target}?x=1`)), 400, 404);
      expect(world.upstream.requests).toHaveLength(0);
    });

    // prettier-ignore
    it.each(['/healthz/', '/Healthz', '//healthz', '/healthz;x', '/%68ealthz', '/v1/models//', '/v1/./models', '/V1/models', '/v1/models;x'])(
      '%j is refused',
      async (path) => expectProblem(await world.ask({ method: 'GET', path }), 400, 404),
    );

    // prettier-ignore
    it.each([
      ['plain', '/v1/models/a/b:c', 200],
      ['encoded', '/v1/models/a%2Fb%3Ac', 200],
      ['every letter encoded', '/v1/models/%61%2f%62%3a%63', 200],
      ['encoded twice', '/v1/models/a%252Fb%253Ac', 404],
      ['a dot segment in disguise', '/v1/models/%2e%2e/models', 404],
      ['no UTF-8', '/v1/models/%ff', 400],
      ['half a percent sign', '/v1/models/a%2', 400],
      ['NUL', '/v1/models/a%00', 404],
      ['another case', '/v1/models/A/b:c', 404],
      ['nothing', '/v1/models/', 404],
      ['a name of every object', '/v1/models/__proto__', 404],
      ['another such name', '/v1/models/constructor', 404],
    ])('G7: but for the id of a model, decoded once: %s', async (_, path, status) => {
      const ids = await EdgeWorldOf('a/b:c');
      const response = await ids.ask({ method: 'GET', path });
      if (status === 200) expect(response.json()).toMatchObject({ id: 'a/b:c', object: 'model' });
      else expectProblem(response, status, 400);
      expect(response.status === 200).toBe(status === 200);
    });
  });

  let named: EdgeWorld | undefined;
  const EdgeWorldOf = async (id: string): Promise<EdgeWorld> => {
    named ??= await EdgeWorld.start({ models: [{ id, upstream: 'engine', operations: ['chat'] }], aliases: [] });
    return named;
  };
  afterAll(() => named?.stop());

  describe('P1a: below a prefix', () => {
    // prettier-ignore
    it.each([
      '/plain/../kept', '/plain/..', '/plain/.', '/plain/./x', '/plain/x/../../kept', '/plain/%2e%2e/kept', '/plain/.%2e/kept',
      '/plain/%2e/x', '/plain/x%2f..%2f..', '/plain/x%2fy', '/plain/x%5cy', '/plain/x\\..\\y', '/plain/%252e%252e/kept',
      '/plain/%25', '/plain/x%00', '/plain/x%0d%0aX-A:b', '/plain/x%0a', '/plain/x%7f', '/plain//x', '/plain//evil.test/x', '/plain/http://evil.test',
      '/plain/x;a=b', '/plain/x#y', '/plain/%ff', '/plain/%c0%ae%c0%ae/x', '/plain/%', '/plain/%e2%80', '/plain/\xe9',
      '/kept/../plain', '/kept/%2e%2e/plain', '/kept/..%2fplain',
    ])('%j is refused', async (target) => {
      expectProblem(await answerTo(posted(target)), 400, 404);
      expect(world.upstream.requests).toHaveLength(0);
    });

    // prettier-ignore
    it.each([
      ['/plain', '/'], ['/plain/', '/'], ['/plain?a=b', '/?a=b'], ['/plain/x/y%20z?q=%2e%2e%2f', '/x/y%20z?q=%2e%2e%2f'],
      ['/plain/%C3%A9', '/%C3%A9'], ['/plain/a..b/...', '/a..b/...'], ['/kept/x?a=b', '/kept/x?a=b'], ['/kept', '/kept'],
      ['/plain/@evil.test/x', '/@evil.test/x'], ['/plain/x:y@z', '/x:y@z'],
    ])('%j reaches the upstream as %j', async (target, upstream) => {
      const response = await answerTo(posted(target));
      expect(response.status).toBe(200);
      expect(world.upstream.lastRequest).toMatchObject({ target: upstream });
      expect(world.upstream.lastRequest.field('host')).toBe(world.upstream.authority);
    });
  });

  // prettier-ignore
  it.each(['http://HERE/v1/chat/completions', 'http://HERE', 'https://HERE/v1/chat/completions', '//HERE/v1/chat/completions',
    '///HERE/', '/\\HERE/', 'http://a@HERE/v1/chat/completions', 'HERE', '*', 'HERE/v1/chat/completions', '?x', 'v1/chat/completions',
    'file:///etc/passwd', '/plain//HERE/x', '/kept//HERE/x', '/plain/..//HERE', '@HERE/x', ':80', '/http://HERE/',
  ])('P2, P3: %j is refused, and nothing is asked there', async (target) => {
    const bytes = posted(target.replace('HERE', elsewhere.authority));
    expectProblem(await answerTo(bytes), 400, 404);
    expect(world.upstream.requests).toHaveLength(0);
  });

  it('P3: an engine is asked at the configured path, whatever the target says behind its own', async () => {
    for (const path of [CHAT, `${CHAT}?model=x&path=/evil`, '/v1/alias/chat/completions?x=//evil.test/']) {
      expect(contentOf(await world.post(BODY, path))).toBe('mark-path');
    }
    for (const { target, field } of world.upstream.requests) {
      expect(target).toBe(CHAT);
      expect(field('host')).toBe(world.upstream.authority);
    }
    expect(world.upstream.requests).toHaveLength(3);
  });

  it('P5: a route that does not say what it requires stops the start', async () => {
    @Controller('bare')
    class BareController {
      @Get()
      get(): string {
        return 'open to everybody';
      }
    }
    const module = {
      module: BareController,
      imports: [DiscoveryModule],
      controllers: [BareController],
      providers: [ScopeGuard, { provide: CallerResolver, useValue: {} }, { provide: AccessTable, useValue: {} }],
    };
    const start = (): Promise<INestApplicationContext> =>
      NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
    await expect(start()).rejects.toThrow('BareController.get does not say what scope it requires');
  });

  describe('P6: methods', () => {
    // prettier-ignore
    it.each(['TRACE', 'PROPFIND', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD', 'GET', 'QUERY', 'SEARCH', 'PURGE', 'LINK', 'FOO', 'post'])(
      '%s is refused where POST is taken',
      async (method) => {
        for (const path of [CHAT, '/v1/embeddings', '/v1/rerank', '/v1/alias/chat/completions']) {
          const response = await answerTo(posted(path).replace('POST', method), method);
          expect([404, 405, 501]).toContain(response.status);
          if (method !== 'HEAD') expectProblem(response, 404, 405, 501);
          if (response.status === 405) expect(response.header('allow')).toBe('POST');
        }
        expect(world.upstream.requests).toHaveLength(0);
      },
    );

    it.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE'])(
      '%s is refused where GET is taken',
      async (method) => {
        for (const path of ['/v1/models', '/v1/models/demo-chat', '/healthz', '/readyz']) {
          const response = await world.ask({ method, path });
          expectProblem(response, 404, 405, 501);
          if (response.status === 405) expect(response.header('allow')).toMatch(/^GET(?:, HEAD)?$/);
        }
        expect(world.upstream.requests).toHaveLength(0);
      },
    );

    it.each(['PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY'])(
      '%s is refused on a prefix that does not name it',
      async (method) => {
        const response = await world.ask({ method, path: '/plain/x', headers: { 'content-type': 'text/plain' } });
        expectProblem(response, 405, 501);
        if (response.status === 405) expect(response.header('allow')).toBe('GET, POST, PUT, DELETE');
        expect(world.upstream.requests).toHaveLength(0);
      },
    );

    it('QUERY crosses where the prefix names it, body and all', async () => {
      const response = await answerTo(posted('/asked/x').replace('POST', 'QUERY'), 'QUERY');
      expect(contentOf(response)).toBe('mark-path');
      expect(world.upstream.lastRequest).toMatchObject({ method: 'QUERY', target: '/x' });
      expect((await world.ask({ method: 'GET', path: '/asked/x' })).header('allow')).toBe('QUERY');
    });

    it('CONNECT is refused, and opens nothing', async () => {
      for (const target of [elsewhere.authority, CHAT, 'gateway.test:443']) {
        const response = await world.refusal(`CONNECT ${target} HTTP/1.1\r\n${HOST}\r\n\r\n`);
        expectProblem(response, 400, 405, 501);
      }
      expect(world.upstream.requests).toHaveLength(0);
    });

    it('HEAD is answered as GET is, without the body', async () => {
      for (const path of ['/healthz', '/readyz', '/v1/models', '/v1/models/demo-chat']) {
        const get = await world.ask({ method: 'GET', path });
        const head = await world.ask({ method: 'HEAD', path });
        const named = (response: typeof get) => response.headers.map(([name]) => name.toLowerCase());
        expect(get.status).toBe(200);
        expect(head.status).toBe(200);
        expect(named(head)).toEqual(named(get));
        expect(head.header('content-length')).toBe(get.header('content-length'));
      }
      expect((await world.ask({ method: 'HEAD', path: '/nowhere' })).status).toBe(404);
    });

    it('HEAD leaves the connection in step', async () => {
      const connection = await world.connect();
      for (const path of ['/v1/models', '/nowhere', '/healthz']) {
        connection.send(`HEAD ${path} HTTP/1.1\r\n${HOST}\r\n\r\nGET /healthz HTTP/1.1\r\n${HOST}\r\n\r\n`);
        expect((await connection.response({ method: 'HEAD' })).body).toHaveLength(0);
        expect((await connection.response()).status).toBe(200);
      }
      connection.destroy();
    });
  });

  it('P7: a query chooses neither model, upstream nor credential, and is never logged', async () => {
    const query = '?model=other&upstream=plain&access_token=mark-token&api_key=mark-token&tenant=mark-tenant';
    expect(contentOf(await world.post(BODY, CHAT + query))).toBe('mark-path');
    expectProblem(await world.post(JSON.stringify({ messages: [] }), `${CHAT}?model=demo-chat`), 400);
    expect(world.upstream.requests.map(({ target }) => target)).toEqual([CHAT]);
    expect(JSON.stringify(world.upstream.lastRequest.fields)).not.toContain('mark-t');
    await world.logged(await world.ask({ method: 'GET', path: '/healthz' }));
    expect(world.gateway.output()).not.toMatch(/mark-t|access_token|upstream=plain/);
  });
});
