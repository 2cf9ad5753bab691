/** nginx as a reverse proxy of one worker that keeps its connections and buffers nothing. Its files are in `folder`. */
export const nginxConfig = ({ folder, port, enginePort }) => `
daemon off;
worker_processes 1;
worker_rlimit_nofile 16384;
pid ${folder}/nginx.pid;
error_log stderr crit;
events { worker_connections 8192; }
http {
  access_log off;
  client_body_temp_path ${folder}/nginx-body;
  proxy_temp_path ${folder}/nginx-proxy;
  fastcgi_temp_path ${folder}/nginx-fastcgi;
  uwsgi_temp_path ${folder}/nginx-uwsgi;
  scgi_temp_path ${folder}/nginx-scgi;
  client_max_body_size 32m;
  client_body_buffer_size 1m;
  keepalive_timeout 120s;
  keepalive_requests 1000000000;
  tcp_nodelay on;
  upstream engine {
    server 127.0.0.1:${enginePort};
    keepalive 2048;
    keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      proxy_pass http://engine;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_request_buffering off;
      proxy_read_timeout 1h;
    }
  }
}
`;
